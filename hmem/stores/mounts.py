"""Which file system a folder lies on, and whether SQLite's locks and shared memory hold
there. Reads the kernel's mount table; where there is none, nothing is known."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Trust = Literal["local", "unsure", "network"]

MOUNT_TABLE = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb2",
        "smb3",
        "smbfs",
        "ncp",
        "ncpfs",
        "afs",
        "coda",
        "ceph",
        "glusterfs",
        "lustre",
        "beegfs",
        "orangefs",
        "pvfs2",
        "gpfs",
        "davfs",
    ]
)
_NETWORK_FUSE = re.compile(
    r"(sshfs|rclone|s3fs|mountpoint-s3|mount-s3|goofys|geesefs|gcsfuse|gcs|blobfuse2?"
    r"|glusterfs|ceph(-fuse|fs)?|davfs2?|curlftpfs|smbnetfs|juicefs|seaweedfs|mfs"
    r"|moosefs|lizardfs|httpfs|google-drive-ocamlfuse|onedriver)$"
)
# Containers use these as roots of local disks, so a refusal would hit the innocent.
_UNSURE = frozenset(
    ["9p", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "autofs", "fuse", "gfs2", "ocfs2"]
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of the mount table: where it is mounted and what it is."""

    point: str
    fstype: str


def read_mount_table() -> str | None:
    """The kernel's mount table; None where there is none."""
    try:
        return os.fsdecode(MOUNT_TABLE.read_bytes())
    except OSError:
        return None


def mount_of(path: Path, table: str) -> Mount | None:
    """The mount that holds the absolute, resolved `path`. A later line hides an earlier
    one of the same place; lines that cannot be read are passed over."""
    found: Mount | None = None
    for line in table.split("\n"):
        mount = _parse(line)
        if mount is None or not _holds(mount.point, str(path)):
            continue
        if found is None or len(mount.point) >= len(found.point):
            found = mount
    return found


def trust(fstype: str) -> Trust:
    """Whether SQLite may be used on a file system of that type."""
    if fstype in _NETWORK:
        return "network"
    if fstype.startswith("fuse."):
        return "network" if _NETWORK_FUSE.match(fstype[5:]) else "unsure"
    return "unsure" if fstype in _UNSURE else "local"


def _parse(line: str) -> Mount | None:
    before, dash, after = line.partition(" - ")
    fields, kinds = before.split(" "), after.split(" ")
    if not dash or len(fields) < 6 or not kinds[0]:
        return None
    return Mount(point=_unescape(fields[4]), fstype=kinds[0])


def _unescape(text: str) -> str:
    """The kernel writes blank, tab, newline and backslash as three octal digits."""
    return _ESCAPE.sub(lambda m: chr(int(m.group(1), 8)), text)


def _holds(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")
