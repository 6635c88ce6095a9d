"""A file held open under a lock that the system drops with its holder."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt
    import time

    _FAR = 2**30  # a lock there excludes nobody who reads

    def _lock(fd: int, *, shared: bool) -> None:  # noqa: ARG001 - there is one kind
        while True:
            os.lseek(fd, _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            except OSError:
                time.sleep(0.01)
            else:
                return

    def _unlock(fd: int) -> None:
        os.lseek(fd, _FAR, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(fd: int, *, shared: bool) -> None:
        fcntl.flock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


@contextlib.contextmanager
def held(path: Path, *, write: bool) -> Iterator[BinaryIO]:
    """The file of that name, locked; waits for the lock. Raises OSError.

    With `write` it is made where it is not there (for its owner alone), and nobody else
    holds it meanwhile. A file that was replaced while we waited is not the one we get.
    """
    while True:
        flags = (os.O_RDWR | os.O_CREAT) if write else os.O_RDONLY
        flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags, 0o600), "r+b" if write else "rb") as file:
            _lock(file.fileno(), shared=not write)
            try:
                if _is_still(file, path):
                    yield file
                    return
            finally:
                _unlock(file.fileno())


def _is_still(file: BinaryIO, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file.fileno()), there)
