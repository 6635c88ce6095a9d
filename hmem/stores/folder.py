"""The data folder of the embedded store: manifest, names, locks, hints. Synchronous.

hmem.json             the manifest, replaced atomically under `.hmem.lock`
shard-07.db           one SQLite file per bucket, with its -wal and -shm
.shard-07.lock        held around checkpoints of that shard
.hmem.hints           which shards may have new work
"""

import logging
import os
import stat
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from pathlib import Path

from hmem.errors import ForeignFolderError, NetworkFolderError, ReadOnlyStoreError
from hmem.protocols import Space
from hmem.stores.filelock import locked, try_locked
from hmem.stores.hints import Hints, MappedHints, NoHints
from hmem.stores.manifest import NAME, Manifest, read_manifest, write_manifest
from hmem.stores.mounts import mount_of, read_mount_table, trust
from hmem.stores.oserrors import (
    create_private,
    protect,
    store_errors,
    sync_folder,
    write_private,
)

log = logging.getLogger("hmem.store")


def bucket(user_id: str, shards: int) -> int:
    """The user's shard: the same in every process, on every machine, for ever."""
    data = user_id.encode("utf-8", "surrogatepass")
    digest = blake2b(data, digest_size=8, person=b"hmem-bucket").digest()
    return int.from_bytes(digest, "big") % shards


class Folder:
    """An open data folder. Made by `open`; any thread may use it."""

    def __init__(self, path: Path, manifest: Manifest, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._manifest = manifest
        self.hints: Hints = NoHints(manifest.shards) if read_only else self._map_hints()

    @staticmethod
    def open(
        path: Path,
        *,
        shards: int,
        read_only: bool,
        allow_network: bool,
        mount_table: str | None = None,
    ) -> "Folder":
        """Open the folder, or create it with `shards` if there is nothing.

        `path` is resolved here, once. A folder that cannot be written opens read-only if
        it holds a store. `mount_table` stands in for the kernel's. Raises
        ForeignFolderError, NewerFormatError, DamagedStoreError, ReadOnlyStoreError,
        NetworkFolderError, DiskFullError.
        """
        with store_errors(path):
            real = Path(os.path.realpath(path))
        _check_mount(real, mount_table, allow_network=allow_network)
        manifest = _existing(real)
        if manifest is None:
            if read_only:
                raise ReadOnlyStoreError(
                    f"{real} holds no store yet; open it to write once"
                )
            manifest = _create(real, shards)
        if manifest.shards != shards:
            log.info(
                "%s has %s shards, not %s: the folder's number holds",
                real,
                manifest.shards,
                shards,
            )
        return Folder(real, manifest, read_only=read_only or not _writable(real))

    @property
    def shards(self) -> int:
        """How many shards the folder has: fixed when it was created."""
        return self._manifest.shards

    @property
    def space(self) -> Space | None:
        """The target embedding space, as last read."""
        return self._manifest.space

    def reload(self) -> None:
        """Read the manifest again: another process may have changed the spaces."""
        manifest = read_manifest(self.path)
        if manifest is None:
            raise ForeignFolderError(f"{self.path / NAME} is gone")
        self._manifest = manifest

    def adopt_space(self, model: str, dim: int) -> Space:
        """Make this the target space if there is none; return the target there is then.

        Atomic between processes. Raises ReadOnlyStoreError if it would have to write.
        """
        self.reload()
        if self.space is None:
            if self.read_only:
                raise ReadOnlyStoreError(f"{self.path} cannot be written")
            with locked(self.path / ".hmem.lock"), store_errors(self.path):
                self.reload()
                adopted = self._manifest.adopting(model, dim)
                if adopted is not self._manifest:
                    write_manifest(self.path, adopted)
                self._manifest = adopted
        assert self.space is not None
        return self.space

    def shard_path(self, n: int) -> Path:
        """Shard `n`'s file. It need not exist."""
        return self.path / f"{self._shard_name(n)}.db"

    def create_shard(self, n: int) -> Path:
        """Make shard `n`'s file, empty and private, if it is not there.

        SQLite gives -wal and -shm the mode of the file they belong to, so this settles
        all three. The new name is flushed to the disk.
        """
        path = self.shard_path(n)
        if self.read_only:
            raise ReadOnlyStoreError(f"{self.path} cannot be written")
        if not path.exists():
            with locked(self.path / ".hmem.lock"), store_errors(path):
                if not path.exists():
                    # Renamed into place, never opened there: closing any descriptor of a
                    # database drops the locks that SQLite holds on it in this process.
                    new = self.path / ".shard.new"
                    write_private(new, b"")
                    new.rename(path)
                    sync_folder(self.path)
        return path

    def protect_shard(self, n: int) -> None:
        """Set mode 0600 on the shard's file, its -wal and its -shm where they exist."""
        name = str(self.shard_path(n))
        for suffix in ("", "-wal", "-shm"):
            protect(Path(name + suffix))

    def checkpoint_lock(self, n: int) -> AbstractContextManager[None]:
        """Alone with shard `n`'s checkpoint: against other processes, objects, threads.

        Waits. Falls with the process that holds it. A read-only folder has nothing to
        checkpoint: there it is no lock.
        """
        path = self._lock_path(n)
        return nullcontext() if self.read_only else locked(path)

    def try_checkpoint_lock(self, n: int) -> AbstractContextManager[bool]:
        """The same without waiting: gives whether it is held. False in a read-only folder."""
        path = self._lock_path(n)
        return nullcontext(False) if self.read_only else try_locked(path)

    def close(self) -> None:
        """Release the hints. Idempotent."""
        self.hints.close()

    def _shard_name(self, n: int) -> str:
        if not 0 <= n < self.shards:
            raise ValueError(f"shard {n} of {self.shards}")
        return f"shard-{n:02d}"

    def _lock_path(self, n: int) -> Path:
        return self.path / f".{self._shard_name(n)}.lock"

    def _map_hints(self) -> Hints:
        path = self.path / ".hmem.hints"
        with locked(self.path / ".hmem.lock"), store_errors(path):
            create_private(path)
            return MappedHints(path, self.shards)


def _existing(folder: Path) -> Manifest | None:
    """The manifest; None for a folder that is empty or not there. Hidden files do not
    count. Raises ForeignFolderError for any other."""
    # Listed first: shards are only made after the manifest, so names without one are not
    # ours, also while another process creates the store.
    with store_errors(folder):
        try:
            names = [n for n in os.listdir(folder) if not n.startswith(".")]
        except FileNotFoundError:
            return None
    manifest = read_manifest(folder)
    if manifest is None and names:
        raise ForeignFolderError(
            f"{folder} holds {len(names)} other files and no {NAME}; name an empty folder"
        )
    return manifest


def _create(folder: Path, shards: int) -> Manifest:
    """Make the store, or find the one that another process made meanwhile."""
    with store_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(folder)
    with locked(folder / ".hmem.lock"):
        manifest = _existing(folder)
        if manifest is None:
            manifest = Manifest(shards=shards)
            with store_errors(folder):
                write_manifest(folder, manifest)
                sync_folder(folder.parent)
    return manifest


def _make_private(folder: Path) -> None:
    if (
        folder.stat().st_mode & stat.S_ISVTX
    ):  # shared by all, like /tmp: not ours to close
        log.warning("%s is shared with other users; its mode is left alone", folder)
        return
    try:
        folder.chmod(0o700)
    except PermissionError:  # a mount point that another user owns
        log.warning("%s may be readable by others: its mode cannot be set", folder)


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK) and os.access(folder / NAME, os.W_OK)


def _check_mount(folder: Path, table: str | None, *, allow_network: bool) -> None:
    text = read_mount_table() if table is None else table
    mount = mount_of(folder, text) if text is not None else None
    if mount is None:
        return
    level = trust(mount.fstype)
    if level == "network" and not allow_network:
        raise NetworkFolderError(
            f"{folder} lies on {mount.fstype}, where SQLite's locks do not hold: use a"
            " local folder, or Config.allow_network_folder (HMEM_ALLOW_NETWORK_FOLDER)"
        )
    if level != "local":
        log.warning(
            "%s lies on %s: SQLite's locks may not hold there", folder, mount.fstype
        )
