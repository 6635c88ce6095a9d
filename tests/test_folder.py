"""The data folder: made once, agreed on by all, never somebody else's."""

import json
import logging
import stat
from pathlib import Path

import pytest

from hmem.errors import (
    DamagedStoreError,
    ForeignFolderError,
    HmemError,
    NetworkFolderError,
    NewerFormatError,
)
from hmem.protocols import Space
from hmem.stores.folder import Folder, bucket
from hmem.stores.mounts import mount_of, read_mount_table, trust


def opened(path: Path, *, shards: int = 4, read_only: bool = False) -> Folder:
    return Folder.open(path, shards=shards, read_only=read_only, allow_network=False)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(path: Path) -> dict[str, tuple[int, int]]:
    return {
        p.name: (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(path.iterdir())
    }


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


def test_the_first_space_stays_the_target(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    assert first.adopt_space("a", 3) == Space(id=1, model="a", dim=3)
    assert second.space != first.space
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


def test_buckets_never_change() -> None:
    users = ["maya", "bo", "", "東京", "x" * 1000, "\ud800"]
    assert [bucket(u, 16) for u in users] == [3, 7, 10, 7, 4, 13]
    assert [bucket(u, 4096) for u in users] == [3203, 2647, 1882, 3335, 3748, 2221]


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
