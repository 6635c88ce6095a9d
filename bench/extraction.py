"""How true the facts are that hmem extracts, what closes what, and what it costs.

    python -m bench.extraction --dialogues                     the talks in bench/dialogues,
                                                               with perfect proposals
    python -m bench.extraction --dialogues --adversarial --seeds 5
    python -m bench.extraction --dialogues --live              as the endpoint reads them
    python -m bench.extraction --locomo DIR --standin          LoCoMo, told round by round

Who reads the turns is said in the output as `read_by`. Perfect proposals are a script that
knows the talks: they show what the write path makes of a right reply, and adversarial ones
what it makes of wrong ones. The stand-in copies sentences and understands nothing: with it
only calls and the prompts' tokens mean something. `--cassette` plays a recording, or with
`--live` records; it holds for the conversations and --after-turns that it was made with. Exit code 1: a target was missed, or the
figures cannot be trusted.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.extraction_report import table
from bench.extraction_runs import Options, run
from bench.proposals import ATTACKS
from hmem.errors import HmemError


def parse(argv: Sequence[str] | None = None) -> tuple[Options, bool]:
    """The options, and whether to print JSON. Exits on bad ones."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.extraction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--dialogues", action="store_true", help="the talks written by hand"
    )
    what.add_argument(
        "--locomo", type=Path, metavar="DIR", help="LoCoMo's file or folder"
    )
    add("--adversarial", action="store_true", help="wrong proposals; needs --dialogues")
    add("--attacks", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    add("--seeds", type=int, default=1, metavar="N", help="of each attack (default: 1)")
    add(
        "--part", choices=("all", "dev", "held"), default="all", help="of the dialogues"
    )
    add(
        "--only", nargs="+", default=[], metavar="ID", help="dialogues or conversations"
    )
    add("--live", action="store_true", help="ask the endpoint that HMEM_LLM names")
    add("--standin", action="store_true", help="a rule that copies sentences")
    add(
        "--cassette", type=Path, metavar="FILE", help="replay it, or record with --live"
    )
    add("--after-turns", type=int, nargs="+", default=[1, 4, 10], metavar="N")
    add("--mode", choices=("append", "reconcile"), default="append")
    add("--embedder", choices=("hash", "local"), default="hash")
    add("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(argv)
    if given.adversarial and not given.dialogues:
        parser.error("--adversarial needs --dialogues")
    if given.seeds < 1 or min(given.after_turns) < 1:
        parser.error("--seeds and --after-turns are 1 or more")
    reader = _reader(given)
    if given.locomo is not None and reader == "perfect":
        parser.error("--locomo needs --standin, --cassette or --live")
    return (
        Options(
            dialogues=given.dialogues,
            locomo=given.locomo,
            reader=reader,
            cassette=given.cassette,
            adversarial=given.adversarial,
            attacks=tuple(given.attacks),
            seeds=given.seeds,
            part=given.part,
            only=tuple(given.only),
            after_turns=tuple(sorted(set(given.after_turns))),
            mode=given.mode,
            embedder=given.embedder,
        ),
        given.json,
    )


def _reader(given: argparse.Namespace) -> str:
    if given.live:
        return "live"
    if given.cassette is not None:
        return "cassette"
    return "standin" if given.standin else "perfect"


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print. 1 when a target was missed or the figures cannot be trusted."""
    options, as_json = parse(argv)
    try:
        found = asyncio.run(run(options))
    except (HmemError, ValueError, OSError, RuntimeError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2, ensure_ascii=False) if as_json else table(found))
    bad = {name: value for name, value in found["problems"].items() if value}
    if bad:
        print(f"THESE FIGURES CANNOT BE TRUSTED: {json.dumps(bad)}", file=sys.stderr)
    return 1 if bad or not all(found.get("targets", {}).values()) else 0


if __name__ == "__main__":
    sys.exit(main())
