"""The state machine as a test."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from hmem.testing.store.machine import StoreMachine
from hmem.testing.store.world import Maker


def run_machine(maker: Maker, *, examples: int, steps: int) -> None:
    """Run random histories; the seed is fixed, so that a failure comes again."""

    class Machine(StoreMachine):
        pass

    Machine.maker = maker
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=True,
            database=None,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


class HistoryTests:
    """The state machine as a test. Raise the numbers for a long run."""

    machine_examples = 15
    machine_steps = 20

    def test_random_histories_equal_the_model(self) -> None:
        """Views kept by deltas, views read whole, and the model are one."""
        run_machine(self, examples=self.machine_examples, steps=self.machine_steps)  # type: ignore[arg-type]
