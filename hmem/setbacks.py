"""Why a piece of work comes to no end now. States of the world, caught by the rooms that
decide what becomes of the job; none of them leaves hmem."""

from hmem.errors import LLMError


class Outage(Exception):  # noqa: N818
    """The embedder is down: nobody's fault, no attempt is counted."""


class Retry(Exception):  # noqa: N818
    """This claim failed; it may work later. The attempt counts."""


class Lost(Exception):  # noqa: N818
    """The claim is not ours any more: nothing is to be written."""


class ModelDown(Exception):  # noqa: N818
    """The chat model cannot be asked now: extraction waits, no attempt is counted."""

    def __init__(self, error: LLMError) -> None:
        super().__init__(str(error))
        self.why = error.why
        self.retry_after = error.retry_after
