"""The data folder between processes and users: modes, locks, hints, faults."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import hmem
from hmem.errors import (
    ReadOnlyStoreError,
)
from hmem.protocols import Space
from hmem.stores.folder import Folder, bucket

ROOT = str(Path(hmem.__file__).parent.parent)
START = (
    "import os, sys\n"
    "from pathlib import Path\n"
    "from hmem.errors import *\n"
    "from hmem.stores.folder import Folder, bucket\n"
    "def opened(path, shards=4, read_only=False):\n"
    "    return Folder.open(Path(path), shards=shards, read_only=read_only,"
    " allow_network=False)\n"
)


def opened(path: Path, *, shards: int = 4, read_only: bool = False) -> Folder:
    return Folder.open(path, shards=shards, read_only=read_only, allow_network=False)


def started(code: str, *args: str, **env: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", START + code, *args],
        env={**os.environ, "PYTHONPATH": ROOT, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
    )


def ran(code: str, *args: str, **env: str) -> str:
    child = started(code, *args, **env)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    return out.strip()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(path: Path) -> dict[str, tuple[int, int]]:
    return {
        p.name: (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(path.iterdir())
    }


def test_processes_that_create_one_folder_at_once_agree(tmp_path: Path) -> None:
    code = (
        "n = int(sys.argv[2])\n"
        "for line in sys.stdin:\n"
        "    f = opened(os.path.join(sys.argv[1], line.strip()), shards=n)\n"
        "    s = f.adopt_space(f'model-{n}', n)\n"
        "    print(f.shards, s.id, s.model, s.dim, flush=True)\n"
        "    f.close()\n"
    )
    children = [started(code, str(tmp_path), str(n)) for n in (2, 3, 4)]
    winners = set()
    for number in range(12):
        for child in children:
            assert child.stdin is not None
            child.stdin.write(f"round {number}\n")
            child.stdin.flush()
        lines = {c.stdout.readline() for c in children if c.stdout is not None}
        assert len(lines) == 1, lines
        winners |= lines
    for child in children:
        _, err = child.communicate(timeout=10)
        assert (child.returncode, err) == (0, "")
    assert all(len(w.split()) == 4 for w in winners)


def test_the_c_locale_changes_nothing(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code = "f = opened(sys.argv[1]); f.adopt_space('\\u6a21\\u578b-\\xe9', 3); f.create_shard(1)"
    ran(code, str(tmp_path / "mémoires"), **plain)
    folder = opened(tmp_path / "mémoires")
    folder.close()
    assert folder.space == Space(id=1, model="模型-é", dim=3)
    code = (
        "assert sys.getfilesystemencoding() == 'ascii', sys.getfilesystemencoding()\n"
        "try: opened('m\\u00e9moires')\n"
        "except ConfigError as e: print(e)"
    )
    if ran("print(sys.getfilesystemencoding())", **plain) == "ascii":
        assert "PYTHONUTF8=1" in ran(code, **plain)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_only_the_owner_can_read_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        folder = opened(tmp_path / "data")
        folder.adopt_space("m", 3)
        path = folder.create_shard(0)
        with folder.checkpoint_lock(0):
            pass
    finally:
        os.umask(old)
    Path(f"{path}-wal").touch()
    Path(f"{path}-shm").touch(0o666)
    folder.protect_shard(0)
    folder.close()
    assert mode(tmp_path / "data") == 0o700
    assert {p.name: mode(p) for p in folder.path.iterdir()} == {
        ".hmem.hints": 0o600,
        ".hmem.lock": 0o600,
        ".shard-00.lock": 0o600,
        "hmem.json": 0o600,
        "shard-00.db": 0o600,
        "shard-00.db-shm": 0o600,
        "shard-00.db-wal": 0o600,
    }


def test_a_folder_shared_by_all_keeps_its_mode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o1777)
    opened(tmp_path).close()
    assert mode(tmp_path) == 0o1777
    assert "shared with other users" in caplog.text


def test_create_shard_keeps_a_file_that_is_there(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    folder.create_shard(2).write_bytes(b"rows")
    assert folder.create_shard(2).read_bytes() == b"rows"
    folder.close()


def test_asked_for_reading_nothing_is_written(tmp_path: Path) -> None:
    opened(tmp_path).close()
    before = names(tmp_path)
    folder = opened(tmp_path, read_only=True)
    folder.hints.touch(0)
    with folder.checkpoint_lock(0), folder.try_checkpoint_lock(1) as held:
        assert not held
    for write in (lambda: folder.create_shard(0), lambda: folder.adopt_space("m", 1)):
        with pytest.raises(ReadOnlyStoreError):
            write()
    assert folder.read_only
    assert folder.hints.read() == bytes(32)
    folder.close()
    assert names(tmp_path) == before


def test_a_read_only_folder_gives_the_target_it_has(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.adopt_space("m", 3)
    first.close()
    folder = opened(tmp_path, read_only=True)
    assert folder.adopt_space("other", 9) == Space(id=1, model="m", dim=3)


def test_reading_a_store_that_is_not_there_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(ReadOnlyStoreError):
        opened(tmp_path / "none", read_only=True)
    assert names(tmp_path) == {}


def test_a_folder_without_write_permission_opens_for_reading() -> None:
    # Root may write everywhere, so the child gives its rights up.
    out = ran(
        "import tempfile\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "top = tempfile.mkdtemp(); data = os.path.join(top, 'data')\n"
        "f = opened(data); f.adopt_space('m', 3); f.close()\n"
        "os.chmod(data, 0o500)\n"
        "f = opened(data); print(f.read_only, f.space.model); f.close()\n"
        "os.chmod(data, 0o700); os.chmod(os.path.join(data, 'hmem.json'), 0o400)\n"
        "print(opened(data).read_only)\n"
        "os.chmod(os.path.join(data, 'hmem.json'), 0)\n"
        "try: opened(data)\n"
        "except StoreError as e: print(type(e).__name__, 'cannot be read' in str(e))\n"
        "os.chmod(top, 0o500)\n"
        "try: opened(os.path.join(top, 'new'))\n"
        "except ReadOnlyStoreError as e: print('new' in str(e))\n"
        "os.chmod(top, 0o700)\n"
        "import shutil; shutil.rmtree(top)\n"
    )
    assert out.splitlines() == ["True m", "True", "StoreError True", "True"]


def test_a_full_disk_is_a_typed_error_and_leaves_no_half_store(tmp_path: Path) -> None:
    out = ran(
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "for limit in (0, 20, 60):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))\n"
        "    try: opened(sys.argv[1], shards=100)\n"
        "    except DiskFullError as e: print(e.retryable)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400, -1))\n"
        "try: opened(sys.argv[1], shards=100)\n"
        "except DiskFullError as e: print('hints' in str(e))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))\n"
        "f = opened(sys.argv[1], shards=100); f.hints.touch(99)\n"
        "print(f.shards, len(f.hints.read()))\n",
        str(tmp_path),
    )
    assert out.splitlines() == ["True"] * 4 + ["100 800"]


def test_the_checkpoint_lock_falls_with_a_killed_holder(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    child = started(
        "with opened(sys.argv[1]).checkpoint_lock(2):\n"
        "    print('held', flush=True); sys.stdin.read()\n",
        str(tmp_path),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with folder.try_checkpoint_lock(2) as held:
        assert not held
    with folder.try_checkpoint_lock(1) as held:
        assert held
    child.kill()
    with folder.checkpoint_lock(2):
        pass
    child.communicate()
    folder.close()


def test_a_forked_child_does_not_keep_a_dead_parents_lock(tmp_path: Path) -> None:
    parent = started(
        "import signal, time\n"
        "f = opened(sys.argv[1])\n"
        "with f.checkpoint_lock(0):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        time.sleep(20); os._exit(0)\n"
        "    print(child, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n",
        str(tmp_path),
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.wait(10)
    folder = opened(tmp_path)
    try:
        began = time.monotonic()
        with folder.checkpoint_lock(0):
            assert time.monotonic() - began < 5
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate()
        folder.close()


def test_leaving_the_block_in_a_forked_child_frees_nothing(tmp_path: Path) -> None:
    out = ran(
        "f = opened(sys.argv[1])\n"
        "with f.checkpoint_lock(0):\n"
        "    child = os.fork()\n"
        "    if child:\n"
        "        os.waitpid(child, 0)\n"
        "        with opened(sys.argv[1]).try_checkpoint_lock(0) as held:\n"
        "            print(held, flush=True)\n"
        "if child == 0: os._exit(0)\n",
        str(tmp_path),
    )
    assert out == "False"


def test_the_checkpoint_lock_excludes_threads_and_objects(tmp_path: Path) -> None:
    folders = [opened(tmp_path), opened(tmp_path)]
    inside, most, passed = 0, 0, 0

    def enter(folder: Folder) -> None:
        nonlocal inside, most, passed
        for _ in range(20):
            with folder.checkpoint_lock(0):
                inside += 1
                most = max(most, inside)
                time.sleep(0.0005)
                passed += 1
                inside -= 1

    threads = [threading.Thread(target=enter, args=(f,)) for f in folders * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with folders[0].checkpoint_lock(1), folders[0].try_checkpoint_lock(1) as held:
        assert not held
    for folder in folders:
        folder.close()
    assert (most, passed) == (1, 80)


def test_a_lock_is_free_again_after_an_error_inside(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    with pytest.raises(FileNotFoundError), folder.checkpoint_lock(0):
        raise FileNotFoundError("the caller's own, untranslated")
    with folder.try_checkpoint_lock(0) as held:
        assert held
    folder.close()


def test_a_touch_in_another_process_shows_in_its_cell_alone(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    before = folder.hints.read()
    ran("opened(sys.argv[1]).hints.touch(2)", str(tmp_path))
    after = folder.hints.read()
    ran("opened(sys.argv[1]).hints.touch(2)", str(tmp_path))
    last = folder.hints.read()
    folder.close()
    assert len(before) == 4 * 8
    assert before[:16] + before[24:] == after[:16] + after[24:] == last[:16] + last[24:]
    assert len({before[16:24], after[16:24], last[16:24]}) == 3


def test_hints_after_close_are_harmless(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    folder.close()
    folder.close()
    folder.hints.touch(0)
    assert folder.hints.read() == bytes(32)


def test_a_hints_file_cut_short_is_made_whole(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / ".hmem.hints").write_bytes(b"abc")
    folder = opened(tmp_path)
    folder.hints.touch(3)
    assert folder.hints.read()[24:] != bytes(8)
    folder.close()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_buckets_do_not_hang_on_the_hash_seed(seed: str) -> None:
    code = "print([bucket(f'user {n}', 64) for n in range(8)])"
    assert ran(code, PYTHONHASHSEED=seed) == str(
        [bucket(f"user {n}", 64) for n in range(8)]
    )
