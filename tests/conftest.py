"""What holds for all tests: no settings of the machine's, weights only where asked for,
the long forms only where asked for."""

import os
import signal

import pytest

from hmem.embed.weights import HOW_TO_GET_IT, find_weights

KEPT = {"HMEM_MINILM_DIR", "HMEM_LONG"}


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Whoever is done first takes over from the others, where pytest-xdist is used and
    nothing else was asked for. (In `addopts` it would be an error without it.)"""
    if getattr(config.option, "dist", None) == "no" and config.option.numprocesses:
        config.option.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    """A developer's HMEM_ variables must not decide what the tests see, nor must where
    the tests were started."""
    for name in list(os.environ):
        if name.startswith("HMEM_") and name not in KEPT:
            del os.environ[name]
    # Some two hundred processes of the tests import hmem: each would compile it anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A shell starts what it runs in the background deaf to Ctrl-C, and so its children.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """`slow` tests run with `-m slow` (or any `-m` that names it) and with HMEM_LONG=1."""
    if os.environ.get("HMEM_LONG") or "slow" in config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without the weights a `model` test is skipped; where CI is set that is an error."""
    if item.get_closest_marker("model") is None or find_weights() is not None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"CI needs the local model: {HOW_TO_GET_IT}", pytrace=False)
    pytest.skip(f"needs the local model: {HOW_TO_GET_IT}")
