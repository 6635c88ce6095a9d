"""`hmem_memory` under pytest-asyncio, in its strict mode and in its auto mode."""

from collections.abc import AsyncIterator

import pytest_asyncio

from hmem import AsyncMemory


@pytest_asyncio.fixture
async def hmem_memory(hmem_unopened: AsyncMemory) -> AsyncIterator[AsyncMemory]:
    """An AsyncMemory in a folder of the test's own: open, offline, closed afterwards."""
    async with hmem_unopened:
        yield hmem_unopened
