"""What holds for all tests: no settings of the machine's, weights only where asked for."""

import os

import pytest

from hmem.embed.weights import HOW_TO_GET_IT, find_weights

KEPT = {"HMEM_MINILM_DIR", "HMEM_LONG"}


def pytest_configure(config: pytest.Config) -> None:
    """A developer's HMEM_ variables must not decide what the tests see."""
    for name in list(os.environ):
        if name.startswith("HMEM_") and name not in KEPT:
            del os.environ[name]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without the weights a `model` test is skipped; where CI is set that is an error."""
    if item.get_closest_marker("model") is None or find_weights() is not None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"CI needs the local model: {HOW_TO_GET_IT}", pytrace=False)
    pytest.skip(f"needs the local model: {HOW_TO_GET_IT}")
