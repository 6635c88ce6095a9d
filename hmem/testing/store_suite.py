"""What every `Store` must do.

    class TestMyStore(StoreSuite):
        def make_store(self, where: Path, **limits: Any) -> Store:
            return MyStore(...)          # not opened

Nothing else. `where` is a folder of the test's own (a server's store derives a schema
name from it): two stores made with one `where` hold the same data, as two processes
would. `limits` are fields of `Config`: `queue_limit`, `max_attempts`. The class is also
loaded from its file by other processes, so `make_store` uses nothing of the test's.

Every test has two other users around it whose rows carry the same names, and two
handles or two processes wherever that could matter. Needs pytest, pytest-asyncio (mode
"auto") and hypothesis.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("hmem.testing.store")

from hmem.protocols import Store  # noqa: E402 - after the line above, or it is too late
from hmem.testing.store.accepting import AcceptTests  # noqa: E402
from hmem.testing.store.applying import ApplyTests  # noqa: E402
from hmem.testing.store.around import EraseAroundTests  # noqa: E402
from hmem.testing.store.believing import BelievingTests  # noqa: E402
from hmem.testing.store.citing import CiteTests, LinkTests  # noqa: E402
from hmem.testing.store.crossing import CrossingTests  # noqa: E402
from hmem.testing.store.deferring import DeferTests, SubsetTests  # noqa: E402
from hmem.testing.store.ending import EraseTests, HouseTests, SpaceTests  # noqa: E402
from hmem.testing.store.erasing import EraseRowTests  # noqa: E402
from hmem.testing.store.histories import HistoryTests  # noqa: E402
from hmem.testing.store.knowing import KnownTests  # noqa: E402
from hmem.testing.store.profiling import ProfileTests  # noqa: E402
from hmem.testing.store.queueing import ClaimTests  # noqa: E402
from hmem.testing.store.reading import DeltaTests, RowTests  # noqa: E402
from hmem.testing.store.receiving import JobTests  # noqa: E402
from hmem.testing.store.reinstating import NoteTests, ReinstateTests  # noqa: E402
from hmem.testing.store.resending import ResendTests  # noqa: E402
from hmem.testing.store.retrying import ListTests, RetryTests  # noqa: E402
from hmem.testing.store.world import World  # noqa: E402


class StoreSuite(
    AcceptTests,
    ResendTests,
    DeltaTests,
    RowTests,
    ApplyTests,
    BelievingTests,
    ReinstateTests,
    NoteTests,
    KnownTests,
    CiteTests,
    LinkTests,
    ProfileTests,
    ClaimTests,
    SubsetTests,
    DeferTests,
    JobTests,
    ListTests,
    RetryTests,
    EraseTests,
    EraseRowTests,
    EraseAroundTests,
    CrossingTests,
    SpaceTests,
    HouseTests,
    HistoryTests,
):
    """Subclass it and provide `make_store`."""

    def make_store(self, where: Path, **limits: Any) -> Store:  # noqa: ARG002
        """A new handle, not opened, on the data at `where`."""
        name = type(self).__name__
        raise TypeError(f"{name} must provide make_store(where, **limits)")

    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[World]:
        """The data, the handles and the strangers of one test."""
        world = World(self, tmp_path / "data")
        try:
            await world.start()
            yield world
        finally:
            await world.finish()
