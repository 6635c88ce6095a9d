"""python -m benchmarks_perf [--quick]: every program in turn, one line of JSON each."""

import subprocess
import sys

PROGRAMS = (
    "search",
    "large",
    "accept",
    "mixed",
    "loop",
    "ryow",
    "bytes",
    "vectors",
    "kills",
)


def main() -> int:
    """Run them one after the other; how many of them failed."""
    failed = 0
    for name in PROGRAMS:
        command = [sys.executable, "-m", f"benchmarks_perf.{name}", "--json"]
        failed += subprocess.run([*command, *sys.argv[1:]], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
