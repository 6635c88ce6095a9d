"""Which shards may have new work: one cell per shard, shared by every process."""

import contextlib
import errno
import mmap
import os
from pathlib import Path
from typing import Protocol

CELL = 8
_CLOSED = ValueError  # what a closed map raises; another thread may just have closed it


class Hints(Protocol):
    """Cells that change when a shard got work. A hint, never the truth."""

    def touch(self, n: int) -> None:
        """Change shard `n`'s cell. Seen at once by all who map the file."""
        ...

    def read(self) -> bytes:
        """All cells, 8 bytes each, in the shards' order."""
        ...

    def close(self) -> None:
        """Unmap. Idempotent; later touches do nothing."""
        ...


class MappedHints:
    """Hints in a file. Any number of processes, threads and objects may map it."""

    def __init__(self, path: Path, shards: int) -> None:
        self._size = shards * CELL
        fd = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            # Real zeros, no hole: on a full disk, writing to a mapped hole kills us.
            missing = self._size - os.fstat(fd).st_size
            if missing > 0:
                os.lseek(fd, 0, os.SEEK_END)
                if os.write(fd, b"\0" * missing) < missing:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._map = mmap.mmap(fd, self._size)
        finally:
            os.close(fd)

    def touch(self, n: int) -> None:
        """See `Hints`. Random, not counted up: of two processes that count at once, the
        second would write what a reader has already seen."""
        with contextlib.suppress(_CLOSED):
            self._map[n * CELL : (n + 1) * CELL] = os.urandom(CELL)

    def read(self) -> bytes:
        """See `Hints`."""
        try:
            return self._map[:]
        except _CLOSED:
            return bytes(self._size)

    def close(self) -> None:
        """See `Hints`."""
        self._map.close()


class NoHints:
    """Stands in where nothing can be written: nobody works there."""

    def __init__(self, shards: int) -> None:
        self._cells = bytes(shards * CELL)

    def touch(self, n: int) -> None:
        """See `Hints`."""

    def read(self) -> bytes:
        """See `Hints`."""
        return self._cells

    def close(self) -> None:
        """See `Hints`."""
