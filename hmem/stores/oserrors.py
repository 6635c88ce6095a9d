"""What the system's errors mean for a store; and files that only their owner can read."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from hmem.errors import (
    ConfigError,
    DiskFullError,
    ForeignFolderError,
    ReadOnlyStoreError,
    StoreError,
)

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_FOLDER = {errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG}


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Translate OSError into the tree of `hmem.errors`, naming the path."""
    try:
        yield
    except UnicodeEncodeError as e:
        raise ConfigError(
            f"{str(path)!a} cannot be written in this process's file system encoding;"
            " set PYTHONUTF8=1"
        ) from e
    except OSError as e:
        raise _translated(e, path) from e


def _translated(e: OSError, path: Path) -> StoreError:
    why = e.strerror or type(e).__name__
    if e.errno in _FULL:
        return DiskFullError(f"{path}: {why}; free some space")
    if e.errno in _DENIED:
        return ReadOnlyStoreError(f"{path} cannot be written: {why}")
    if e.errno in _NO_FOLDER:
        return ForeignFolderError(f"{path} cannot be a data folder: {why}")
    return StoreError(f"{path}: {why}")


def create_private(path: Path) -> bool:
    """Create an empty file of mode 0600, whatever the umask; False if it was there."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        fd = os.open(path, flags, 0o600)
    except FileExistsError:
        return False
    try:
        _chmod_open(fd, 0o600)
    finally:
        os.close(fd)
    return True


def write_private(path: Path, data: bytes) -> None:
    """Replace a file's content with mode 0600 and flush it to the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
    with open(fd, "wb") as file:
        _chmod_open(fd, 0o600)
        file.write(data)
        file.flush()
        os.fsync(fd)


def protect(path: Path) -> None:
    """Set mode 0600 where the file exists and is ours."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        path.chmod(0o600)


def sync_folder(path: Path) -> None:
    """Flush a folder's entries to the disk, where the system can."""
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _chmod_open(fd: int, mode: int) -> None:
    if hasattr(os, "fchmod"):
        os.fchmod(fd, mode)
