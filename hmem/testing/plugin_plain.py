"""`hmem_memory` where there is no pytest-asyncio: it says what is missing."""

import pytest


@pytest.fixture
def hmem_memory() -> None:
    """Needs pytest-asyncio."""
    pytest.fail(
        "hmem_memory needs pytest-asyncio: pip install pytest-asyncio (without it, open "
        "hmem_unopened yourself)",
        pytrace=False,
    )
