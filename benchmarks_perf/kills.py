"""kill -9 at random moments: what was acknowledged is there, once.

python -m benchmarks_perf.kills [--json] [--rounds 100] [--seed N]
python -m benchmarks_perf.kills --rolling 60        four processes, restarted in turn

A round: two processes with eight tasks each add numbered facts and raw rounds, in turn,
and say each number that was acknowledged. One or both are killed at a random moment, in a
quarter of the rounds once more while others recover; then what is left is worked off, what
was cut short is sent again under its key, and the sets are compared.
"""

import asyncio
import random
import re
import sqlite3
import time
from argparse import Namespace
from collections import Counter
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import get_args

from benchmarks_perf import floors
from benchmarks_perf.floors import Json
from benchmarks_perf.kills_child import DIM, Way, add, config, thing
from benchmarks_perf.kills_parent import Child, Heard, start
from hmem import AsyncMemory
from hmem.protocols import Store
from hmem.records import JobStatus
from hmem.stores.embedded import EmbeddedStore
from hmem.testing.fakes import HashEmbedder

PROCESSES, ROLLING = 2, 4
_NUMBER = re.compile(r"n(\d+-\d+-\d+-\d+)n")


class Tally:
    """What all rounds found. The lists must stay empty."""

    def __init__(self) -> None:
        self.acknowledged = 0
        self.committed_not_acknowledged = 0
        self.sent_again = 0
        self.plans_refused = 0
        self.most_attempts = 0
        self.lost: list[str] = []
        self.doubled: list[str] = []
        self.half_stored: list[str] = []
        self.without_one_vector: list[str] = []
        self.receipts_unreadable: list[str] = []
        self.jobs_not_done: list[str] = []
        self.integrity_failures: list[str] = []
        self.bad_exits: list[str] = []

    def report(self) -> Json:
        """Counts, and the first few of what went wrong."""
        found = {
            name: len(value) if isinstance(value, list) else value
            for name, value in vars(self).items()
        }
        wrong = {n: v[:5] for n, v in vars(self).items() if isinstance(v, list) and v}
        return found | {"ok": not wrong, "wrong": wrong}


async def work_off(mem: AsyncMemory, tally: Tally) -> None:
    """Until no job is left. Leases of the dead lapse first."""
    until = time.monotonic() + 30.0
    while await mem.admin.queued():
        if time.monotonic() > until:
            tally.jobs_not_done.append(f"{await mem.admin.queued()} are left")
            return
        await asyncio.sleep(0.02)


async def check(folder: Path, heard: Heard, tally: Tally) -> None:
    """Restart, work off, send again, compare."""
    settings = config(str(folder))
    store = EmbeddedStore(settings)
    async with AsyncMemory(settings, store=store, embedder=HashEmbedder(DIM)) as mem:
        await work_off(mem, tally)
        users = {thing(number).user_id for number in heard.tried}
        before = await _stored(mem, users)
        cut_short = heard.tried - heard.acknowledged.keys()
        tally.acknowledged += len(heard.acknowledged)
        tally.bad_exits += heard.bad_exits
        tally.plans_refused += heard.plans_refused
        tally.committed_not_acknowledged += len(cut_short & before.keys())
        tally.lost += heard.acknowledged.keys() - before.keys()
        for number in sorted(cut_short):
            await add(mem, thing(number))
            tally.sent_again += 1
        await work_off(mem, tally)
        after = await _stored(mem, users)
        for user in users:
            await _vectors(store, user, tally)
        tally.lost += cut_short - after.keys()
        for number, rows in after.items():
            wanted = 1 if thing(number).is_fact else 2
            if rows != wanted:
                (tally.doubled if rows > wanted else tally.half_stored).append(number)
        await _receipts(mem, store, heard, tally)
    integrity(folder, tally)


async def _stored(mem: AsyncMemory, users: set[str]) -> Counter[str]:
    """How many rows hold each number."""
    found: Counter[str] = Counter()
    for user in sorted(users):
        cursor: str | None = None
        while True:
            page = await mem.get_all(user_id=user, limit=1_000, cursor=cursor)
            for row in page:
                found.update(_NUMBER.findall(row.text))
            cursor = page.cursor
            if cursor is None:
                break
    return found


async def _vectors(store: Store, user: str, tally: Tally) -> None:
    """Each row has one vector: a job applied twice would leave its codes twice."""
    delta = await store.delta(user)
    if delta is None:
        return
    codes = Counter(
        (block.kind, *key) for block in delta.vectors for key in block.keys.tolist()
    )
    rows = [("memory", row.seq, 0) for row in delta.memories]
    rows += [("turn", row.seq, 0) for row in delta.turns]
    if codes != Counter(rows):
        odd = (codes - Counter(rows)) + (Counter(rows) - codes)
        tally.without_one_vector.append(f"{user}: {next(iter(odd))}")


async def _receipts(mem: AsyncMemory, store: Store, heard: Heard, tally: Tally) -> None:
    """Each acknowledged add's receipt is there, and its job ended well."""
    for number, (receipt, user) in heard.acknowledged.items():
        job = await store.job(user, receipt)
        try:
            status = (await mem.receipt(receipt, user_id=user)).status
        except ValueError:
            tally.receipts_unreadable.append(number)
            continue
        assert job is not None
        tally.most_attempts = max(tally.most_attempts, job.attempts)
        if status != "done":
            tally.jobs_not_done.append(f"{number} is {status}: {job.reason}")


def integrity(folder: Path, tally: Tally) -> None:
    """`PRAGMA integrity_check` of every shard. No store is open in this process."""
    for path in sorted(folder.glob("shard-*.db")):
        with closing(sqlite3.connect(path)) as db:
            found = db.execute("PRAGMA integrity_check").fetchall()
        if found != [("ok",)]:
            tally.integrity_failures.append(f"{path.name}: {found[0][0]}")


async def one_round(folder: Path, wave: int, dice: random.Random, heard: Heard) -> int:
    """Start two, kill one or both at a random moment; the survivor ends by SIGTERM."""
    children = [start(folder, f"{wave}-{n}", heard, Way(0.0)) for n in range(PROCESSES)]
    if dice.random() < 0.85:  # else while they open
        await asyncio.gather(*(child.ready() for child in children))
    await asyncio.sleep(dice.uniform(0.0, 0.4))
    dice.shuffle(children)
    doomed = children[: dice.choice((1, PROCESSES))]
    for child in doomed:
        child.kill()
    for child in children[len(doomed) :]:
        await asyncio.sleep(dice.uniform(0.0, 0.2))
        child.terminate()
    await asyncio.gather(*(child.ended() for child in children))
    return len(doomed)


async def kills(folder: Path, options: Namespace) -> Json:
    """All rounds."""
    dice, tally, killed, wave = random.Random(options.seed), Tally(), 0, 0
    for _ in range(options.rounds):
        heard = Heard()
        for _ in range(2 if dice.random() < 0.25 else 1):
            wave += 1
            killed += await one_round(folder, wave, dice, heard)
        await check(folder, heard, tally)
    return {"rounds": options.rounds, "killed": killed} | tally.report()


async def rolling(folder: Path, options: Namespace) -> Json:
    """Four processes on one folder; every moment one of them is ended, by SIGTERM and by
    kill -9 in turn, and another takes its place. All read each other's receipts."""
    dice, tally, heard = random.Random(options.seed), Tally(), Heard()
    ends, restarts, names = time.monotonic() + options.rolling, 0, count()

    def fresh() -> Child:
        # A process that a busy machine stops for a while keeps what it leased.
        return start(folder, f"0-{next(names)}", heard, Way(0.02, lease=2.0))

    children = [fresh() for _ in range(ROLLING)]
    while time.monotonic() < ends or restarts < ROLLING:
        await asyncio.gather(*(child.ready() for child in children))
        await asyncio.sleep(dice.uniform(0.1, 0.6))
        receipts = list(heard.acknowledged.values())
        for child in children:
            child.ask(dice.sample(receipts, min(20, len(receipts))))
        slot, restarts = restarts % ROLLING, restarts + 1
        # Each slot is killed every other time it is reached.
        if (restarts + restarts // ROLLING) % 2:
            children[slot].kill()
        else:
            children[slot].terminate()
        await children[slot].ended()
        children[slot] = fresh()
    await asyncio.gather(*(child.ready() for child in children))
    for child in children:
        child.terminate()
    await asyncio.gather(*(child.ended() for child in children))
    states = get_args(JobStatus)
    tally.receipts_unreadable += [r for r, found in heard.seen if found not in states]
    await check(folder, heard, tally)
    return {
        "seconds": options.rolling,
        "restarts": restarts,
        "receipts_asked_elsewhere": len(heard.seen),
    } | tally.report()


def main() -> None:
    """Run and print. Exits with 1 when anything was lost, doubled or damaged."""
    parser = floors.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--rolling", type=float, metavar="SECONDS")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.rolling = 3, options.rolling and 5.0
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(2**32)
    run = kills if options.rolling is None else rolling
    began = time.monotonic()
    with floors.workplace(options.folder) as folder:
        result = asyncio.run(run(folder / "store", options))
    took = round(time.monotonic() - began, 1)
    floors.report({"seed": options.seed} | result | {"took_s": took}, options)
    raise SystemExit(0 if result["ok"] else 1)


if __name__ == "__main__":
    main()
