"""A cassette: a file of what models were asked and what they answered."""

import contextlib
import errno
import logging
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Self

from hmem.errors import DiskFullError, StoreError
from hmem.replay.entries import Chat, Count, Embedding, Entry
from hmem.replay.hold import held
from hmem.replay.reading import Reader
from hmem.replay.written import HEADER, write

log = logging.getLogger("hmem.replay")


class Cassette:
    """Entries by key, in a file that a person can read; see `hmem.replay.written`.

    The constructor does no I/O: the file is read at the first use, and made by the first
    recording. All methods are synchronous and may be called from any thread. Several
    tasks and several processes may record into one file at once: each entry is appended
    whole, under a lock, after what the others appended was read. Of one key the first
    answer stands. A process that is killed loses at most the entry it was writing: what
    is cut off is not read, and the next recording removes it.

    Raises DamagedStoreError when the file is not a cassette or was changed otherwise,
    NewerFormatError for a later version's, and StoreError when it cannot be read or
    written. It holds what users said: keep it as you keep their data.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.version = 0  # grows with every change that is seen
        self._lock = threading.RLock()
        self._entries: dict[str, Entry] = {}
        self._reader: Reader | None = None
        self._identity: tuple[int, int] | None = None
        self._unsaved: dict[str, Entry] = {}
        self._untidy = False

    def load(self) -> Self:
        """Read the file if that has not been done. A file that is not there is empty."""
        if self._reader is not None:
            return self
        with self._lock, _errors(self.path):
            try:
                with held(self.path, write=False) as file:
                    self._catch_up(file)
                    self._warn_of_cuts(file)
            except FileNotFoundError:
                self._reader = Reader(str(self.path))
        return self

    def find(self, key: str) -> Entry | None:
        """The entry of that key."""
        self.load()
        return self._entries.get(key)

    def record(self, *entries: Entry, replace: bool = False) -> list[Entry]:
        """Append the entries that are new; return what stands for each key now.

        `replace` lets an entry stand instead of an earlier one. What could not be written
        stays in memory, and is written with the next recording.
        """
        with self._lock, _errors(self.path):
            try:
                with self._writing() as file:
                    self._take(entries, replace=replace)
                    self._append(file)
            finally:
                self._take(entries, replace=False)
        return [self._entries[entry.key] for entry in entries]

    def drop(self, *keys: str) -> int:
        """Remove the entries of these keys; say how many there were. What they answered
        is asked again when it is recorded anew."""
        with self._lock:
            self.load()
            with _errors(self.path), self._writing() as file:
                self.version += 1
                gone = [self._entries.pop(key, None) for key in set(keys)]
                self._rewrite(file)
            return sum(entry is not None for entry in gone)

    def tidy(self) -> None:
        """Write the file anew, in an order that depends on nothing but its entries: two
        recordings of the same are the same file. Nothing is done when nothing was
        recorded since."""
        with self._lock:
            if self._untidy or self._unsaved:
                with _errors(self.path), self._writing() as file:
                    self._rewrite(file)

    def chats(self) -> list[Chat]:
        """The requests to chat models, in the order of `tidy`."""
        return [e for e in self._sorted() if isinstance(e, Chat)]

    def embeddings(self) -> list[Embedding]:
        """The vectors, in the order of `tidy`."""
        return [e for e in self._sorted() if isinstance(e, Embedding)]

    def counts(self) -> list[Count]:
        """The counts of tokens, in the order of `tidy`."""
        return [e for e in self._sorted() if isinstance(e, Count)]

    def __len__(self) -> int:
        self.load()
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return self.find(key) is not None

    # -------------------------------------------------------------------- inside

    def _sorted(self) -> list[Entry]:
        with self._lock:
            self.load()
            return sorted(self._entries.values(), key=lambda entry: entry.place)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[BinaryIO]:
        """The file, alone ours, with all that others wrote read, and without a cut end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with held(self.path, write=True) as file:
            self._catch_up(file)
            self._warn_of_cuts(file)
            assert self._reader is not None
            file.truncate(self._reader.end)
            yield file

    def _catch_up(self, file: BinaryIO) -> None:
        """Read what the file holds beyond what is known; all of it when it was replaced
        meanwhile."""
        there = os.fstat(file.fileno())
        identity = (there.st_dev, there.st_ino)
        reader, entries = self._reader, self._entries
        if reader is None or identity != self._identity or there.st_size < reader.end:
            reader, entries = Reader(str(self.path)), dict(self._unsaved)
        before = reader.end
        file.seek(before)
        for entry in reader.read(file.read()):
            entries[entry.key] = entry
            self._unsaved.pop(entry.key, None)
        self.version += reader.end != before
        self._reader, self._entries, self._identity = reader, entries, identity

    def _take(self, entries: Iterable[Entry], *, replace: bool) -> None:
        for entry in entries:
            known = self._entries.get(entry.key)
            if known is None or (replace and known != entry):
                self._entries[entry.key] = self._unsaved[entry.key] = entry
                self.version += 1

    def _append(self, file: BinaryIO) -> None:
        """Write what is unsaved. Where that fails, what was written of it is cut off by
        the next one."""
        if not self._unsaved:
            return
        assert self._reader is not None
        shared = dict(self._reader.shared)
        text = "".join(write(entry, shared) for entry in self._unsaved.values())
        data = text.encode("utf-8")
        file.seek(self._reader.end)
        file.write(data if self._reader.end else HEADER + data)
        file.flush()
        self._untidy = True
        self._catch_up(file)

    def _rewrite(self, old: BinaryIO) -> None:
        """Replace the file, whole or not at all. The caller holds it."""
        shared: dict[str, str] = {}
        text = "".join(write(entry, shared) for entry in self._sorted())
        path = Path(os.path.realpath(self.path))
        new = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(fd, "wb") as file:
                file.write(HEADER + text.encode("utf-8"))
                file.flush()
                os.fsync(fd)
            os.chmod(new, stat.S_IMODE(os.fstat(old.fileno()).st_mode))
            os.replace(new, path)
        finally:
            new.unlink(missing_ok=True)
        self._unsaved.clear()
        self._untidy = False

    def _warn_of_cuts(self, file: BinaryIO) -> None:
        reader = self._reader
        assert reader is not None
        cut = reader.cut + (os.fstat(file.fileno()).st_size > reader.end)
        reader.cut = 0
        if cut:
            log.warning("%s: entries cut off, which are not used: %d", self.path, cut)


@contextlib.contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        why = e.strerror or type(e).__name__
        if e.errno == errno.ENOSPC:
            raise DiskFullError(f"{path}: {why}; free some space") from e
        raise StoreError(f"{path}: {why}") from e
