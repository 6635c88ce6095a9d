"""The data folder: made once, agreed on by all, never somebody else's."""

import json
import logging
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
    DamagedStoreError,
    ForeignFolderError,
    HmemError,
    NetworkFolderError,
    NewerFormatError,
    ReadOnlyStoreError,
)
from hmem.protocols import Space
from hmem.stores.folder import Folder, bucket
from hmem.stores.mounts import mount_of, read_mount_table, trust

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


# ------------------------------------------------------------------ creating and opening


def test_a_new_folder_keeps_its_number_of_shards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(tmp_path / "new" / "deep", shards=5).close()
    with caplog.at_level(logging.INFO, logger="hmem.store"):
        again = opened(tmp_path / "new" / "deep", shards=9)
    again.close()
    assert again.shards == 5
    assert "has 5 shards, not 9" in caplog.text


def test_an_empty_folder_and_hidden_files_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*")
    folder = opened(tmp_path)
    folder.close()
    assert (folder.shards, folder.read_only, folder.space) == (4, False, None)


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    (tmp_path / "shard-00.db").write_text("x")
    before, before_mode = names(tmp_path), mode(tmp_path)
    with pytest.raises(ForeignFolderError, match=r"hmem\.json"):
        opened(tmp_path)
    assert (names(tmp_path), mode(tmp_path)) == (before, before_mode)


@pytest.mark.parametrize("below", ["", "sub/folder"])
def test_a_path_that_is_or_goes_through_a_file_is_refused(
    tmp_path: Path, below: str
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(ForeignFolderError, match="file"):
        opened(file / below)
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param('{"format": 1, "sha', id="torn"),
        pytest.param("\x00\x00\x00\x00", id="zeros"),
        pytest.param("[" * 100_000, id="nested"),
        pytest.param("[1]", id="no object"),
        pytest.param('{"shards": 4}', id="no format"),
        pytest.param('{"format": true, "shards": 4, "spaces": []}', id="bool format"),
        pytest.param('{"format": 1, "shards": 0, "spaces": []}', id="no shards"),
        pytest.param('{"format": 1, "shards": "4", "spaces": []}', id="text shards"),
        pytest.param('{"format": 1, "shards": 4}', id="no spaces"),
        pytest.param('{"format": 1, "shards": 4, "spaces": [1]}', id="odd space"),
        pytest.param(
            '{"format": 1, "shards": 4, "spaces": [], "target": 3}', id="lost target"
        ),
        pytest.param(
            '{"format": 1, "shards": 4, "target": 1, "spaces":'
            ' [{"id": 1, "model": "a", "dim": 2}, {"id": 1, "model": "b", "dim": 2}]}',
            id="doubled id",
        ),
    ],
)
def test_a_damaged_manifest_is_named_and_kept(tmp_path: Path, text: str) -> None:
    manifest = tmp_path / "hmem.json"
    manifest.write_text(text, encoding="utf-8")
    with pytest.raises(DamagedStoreError, match=r"hmem\.json"):
        opened(tmp_path)
    assert manifest.read_text(encoding="utf-8") == text


def test_a_manifest_that_is_not_utf8_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "hmem.json").write_bytes(b'{"format": 1, "x": "\xff\xfe"}')
    with pytest.raises(DamagedStoreError):
        opened(tmp_path)


def test_a_newer_format_is_refused_before_the_rest_is_judged(tmp_path: Path) -> None:
    (tmp_path / "hmem.json").write_text('{"format": 2, "shards": {"by": "region"}}')
    with pytest.raises(NewerFormatError, match="upgrade"):
        opened(tmp_path)


def test_a_manifest_half_written_by_a_crash_does_no_harm(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.close()
    (tmp_path / ".hmem.json.new").write_text('{"format": 1, "sha')
    second = opened(tmp_path)
    assert second.adopt_space("m", 3) == Space(id=1, model="m", dim=3)
    second.close()
    assert sorted(names(tmp_path)) == [".hmem.hints", ".hmem.lock", "hmem.json"]


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


# -------------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "name",
    ["two words", "mémoires 東京 🙂", "ü" * 127, "x" * 255, "-rf", "a'b\"c;d", "nl\nx"],
)
def test_names_of_every_kind_work(tmp_path: Path, name: str) -> None:
    folder = opened(tmp_path / name)
    folder.adopt_space("m", 3)
    folder.create_shard(3)
    folder.close()
    assert (tmp_path / name / "shard-03.db").exists()
    assert opened(tmp_path / name, read_only=True).space is not None


@pytest.mark.parametrize("name", ["x" * 256, "/".join(["y" * 250] * 20)])
def test_a_name_too_long_for_the_system_is_a_typed_error(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(ForeignFolderError, match="too long"):
        opened(tmp_path / name)


def test_a_loop_of_links_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ForeignFolderError):
        opened(tmp_path / "a")


def test_a_linked_folder_is_the_folder_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    first, second = opened(tmp_path / "link"), opened(tmp_path / "real")
    assert first.path == second.path == tmp_path.resolve() / "real"
    first.hints.touch(1)
    assert second.hints.read() == first.hints.read() != bytes(32)
    first.close()
    second.close()


def test_a_relative_path_is_resolved_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    folder = opened(Path("data"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    folder.adopt_space("m", 3)
    folder.create_shard(0)
    folder.reload()
    folder.close()
    assert folder.path == tmp_path.resolve() / "data"
    assert (tmp_path / "data" / "shard-00.db").exists()
    assert names(tmp_path / "elsewhere") == {}


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


def test_shard_names_come_from_bucket_numbers_alone(tmp_path: Path) -> None:
    folder = opened(tmp_path, shards=200)
    assert [folder.shard_path(n).name for n in (0, 7, 199)] == [
        "shard-00.db",
        "shard-07.db",
        "shard-199.db",
    ]
    for n in (-1, 200):
        with pytest.raises(ValueError, match="of 200"):
            folder.shard_path(n)
    folder.close()


# -------------------------------------------------------------------------- permissions


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


# --------------------------------------------------------------------------------- locks


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


# --------------------------------------------------------------------------------- hints


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


# -------------------------------------------------------------------------------- spaces


def test_the_first_space_stays_the_target(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    assert first.adopt_space("a", 3) == Space(id=1, model="a", dim=3)
    assert second.space is None
    assert second.adopt_space("b", 5) == Space(id=1, model="a", dim=3) == second.space
    third = opened(tmp_path)
    assert third.space == first.space
    for folder in (first, second, third):
        folder.close()


def test_reload_shows_what_another_handle_adopted(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    first.adopt_space("a", 3)
    second.reload()
    assert second.space == first.space
    first.close()
    second.close()


def test_keys_of_a_later_hmem_survive_a_write(tmp_path: Path) -> None:
    opened(tmp_path).close()
    path = tmp_path / "hmem.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "later": [1, "é"]}))
    folder = opened(tmp_path)
    folder.adopt_space("m", 3)
    folder.close()
    assert json.loads(path.read_text())["later"] == [1, "é"]


# ------------------------------------------------------------------------------- buckets


def test_buckets_never_change() -> None:
    users = ["maya", "bo", "", "東京", "x" * 1000, "\ud800"]
    assert [bucket(u, 16) for u in users] == [3, 7, 10, 7, 4, 13]
    assert [bucket(u, 4096) for u in users] == [3203, 2647, 1882, 3335, 3748, 2221]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_buckets_do_not_hang_on_the_hash_seed(seed: str) -> None:
    code = "print([bucket(f'user {n}', 64) for n in range(8)])"
    assert ran(code, PYTHONHASHSEED=seed) == str(
        [bucket(f"user {n}", 64) for n in range(8)]
    )


def test_buckets_are_even() -> None:
    counts = [0] * 16
    for n in range(8000):
        counts[bucket(f"user-{n}", 16)] += 1
    assert min(counts) > 420
    assert max(counts) < 580


# ----------------------------------------------------------------------- network folders

TABLE = (
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 27 0:30 / {point} rw,relatime shared:7 master:1 - {fstype} server:/x rw\n"
    "a line that is no mount\n"
)


def at(point: Path | str, fstype: str) -> str:
    text = (
        str(point).replace("\\", "\\134").replace(" ", "\\040").replace("\n", "\\012")
    )
    return TABLE.format(point=text, fstype=fstype)


def opened_on(path: Path, table: str, *, allow_network: bool = False) -> Folder:
    return Folder.open(
        path,
        shards=4,
        read_only=False,
        allow_network=allow_network,
        mount_table=table,
    )


@pytest.mark.parametrize(
    "fstype",
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "ncpfs",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "fuse.sshfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.mount-s3",
    ],
)
def test_a_network_folder_is_refused_before_anything_is_made(
    tmp_path: Path, fstype: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = at(tmp_path, fstype)
    with pytest.raises(
        NetworkFolderError, match=f"{fstype}.*HMEM_ALLOW_NETWORK_FOLDER"
    ):
        opened_on(tmp_path / "data", table)
    assert names(tmp_path) == {}
    opened_on(tmp_path / "data", table, allow_network=True).close()
    assert fstype in caplog.text


@pytest.mark.parametrize("fstype", ["9p", "virtiofs", "fuse.unionfs", "fuse"])
def test_a_doubtful_folder_is_warned_about(
    tmp_path: Path, fstype: str, caplog: pytest.LogCaptureFixture
) -> None:
    opened_on(tmp_path / "data", at(tmp_path, fstype)).close()
    assert fstype in caplog.text


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "btrfs", "overlay", "tmpfs", "zfs"])
def test_a_local_folder_is_not_mentioned(
    tmp_path: Path, fstype: str, caplog: pytest.LogCaptureFixture
) -> None:
    opened_on(tmp_path / "data", at(tmp_path, fstype)).close()
    assert caplog.text == ""
    assert trust("fuseblk") == "local"


def test_the_nearest_mount_decides_and_a_later_one_hides_an_earlier(
    tmp_path: Path,
) -> None:
    table = at("/net", "nfs4") + at("/net/local disk", "ext4") + at("/net2", "cifs")
    found = {
        str(p): (mount_of(p, table) or pytest.fail("no mount")).fstype
        for p in map(
            Path, ["/net", "/net/a", "/net/local disk/b", "/network", "/net2/x"]
        )
    }
    assert list(found.values()) == ["nfs4", "nfs4", "ext4", "ext4", "cifs"]
    hidden = at("/net", "nfs4") + at("/net", "ext4")
    assert (mount_of(Path("/net/a"), hidden) or pytest.fail("none")).fstype == "ext4"


def test_a_link_onto_a_network_folder_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "far away\n").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far away\n")
    with pytest.raises(NetworkFolderError):
        opened_on(tmp_path / "near" / "data", at(tmp_path / "far away\n", "nfs"))


def test_the_kernels_table_names_the_mount_of_this_folder(tmp_path: Path) -> None:
    table = read_mount_table()
    if table is None:
        pytest.skip("no mount table here")
    found = mount_of(tmp_path.resolve(), table)
    assert found is not None
    assert str(tmp_path.resolve()).startswith(found.point)


def test_every_error_of_the_folder_is_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / "hmem.json").mkdir()
    with pytest.raises(HmemError, match=r"hmem\.json"):
        opened(tmp_path)
