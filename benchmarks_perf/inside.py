"""The one look behind the embedded store's doors: a shard's connection, and its file."""

from pathlib import Path

from hmem.stores.connection import ShardConnection
from hmem.stores.embedded import EmbeddedStore


async def connection(store: EmbeddedStore, *, write: bool) -> ShardConnection:
    """The connection by which shard 0 reads, or writes."""
    async with store._handle.pool.use(0) as shard:
        return await shard._connection(write=write)


async def hop(to: ShardConnection) -> None:
    """To the connection's thread and back, doing nothing there."""
    await to.run(_nothing)


def _nothing(_: object) -> None:
    return None


def file_of(folder: Path) -> Path:
    """Shard 0's file."""
    return folder / "shard-00.db"
