"""A lock between processes, threads and objects, which the system drops with its holder."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from hmem.stores.oserrors import create_private, store_errors

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _wait(fd: int) -> None:
        while not _lock(fd):
            time.sleep(0.01)

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


# A forked child shares the lock of its parent; were the parent killed then, the child
# would keep it for ever. So the child closes what it inherited, which frees nothing.
_held: set[int] = set()


def _drop_in_child() -> None:
    for fd in tuple(_held):
        with contextlib.suppress(OSError):
            os.close(fd)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_in_child)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock; waits for it. The file stays: removing it would let two hold it."""
    fd = _open(path)
    try:
        with store_errors(path):
            _wait(fd)
        yield
    finally:
        _close(fd)


@contextlib.contextmanager
def try_locked(path: Path) -> Iterator[bool]:
    """Hold the lock if it is free; gives whether it was. Never waits."""
    fd = _open(path)
    try:
        with store_errors(path):
            got = _lock(fd)
        yield got
    finally:
        _close(fd)


def _open(path: Path) -> int:
    # A descriptor of its own per holder: that is what makes flock exclude threads too.
    with store_errors(path):
        flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
        try:
            fd = os.open(path, flags)
        except FileNotFoundError:
            create_private(path)
            fd = os.open(path, flags)
    _held.add(fd)
    return fd


def _close(fd: int) -> None:
    if fd not in _held:  # forked inside the block
        return
    _held.discard(fd)
    try:
        # Said aloud, since a child forked meanwhile may hold the same open file.
        with contextlib.suppress(OSError):
            _unlock(fd)
    finally:
        os.close(fd)
