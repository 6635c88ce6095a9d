"""Whose turn it is not: leases kept, given back and ended; deferrals made and ended.

A user's *hold* keeps workers out: a lease while jobs run, a delay after a release, or a
deferral, which the user's next job ends. The user's token changes whenever a hold ends, so
that an old claim is worth nothing.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace

from hmem.protocols import Claim, ClaimedJob, JobEnd, WritePlan
from hmem.stores import account as accounts
from hmem.stores import jobs
from hmem.stores.account import DEFERRED, HURRIED, IDLE, Account
from hmem.stores.jobs import Results, settle
from hmem.stores.keys import pack

Clock = Callable[[], int]


def free(account: Account) -> None:
    """End whatever hold there is."""
    account.hold_from = account.hold_until = account.holder = None
    account.deferral = 0
    account.token += 1


def requeue(conn: sqlite3.Connection, account: Account, back: int = 0) -> int:
    """Queue what runs again: how many that are. `back`: attempts to take back."""
    running = 0
    for is_import in (0, 1):
        keys = conn.execute(
            f"{jobs.OPEN} AND state = 1", (is_import, *account.span)
        ).fetchall()
        conn.executemany(
            "UPDATE jobs SET state = 0, attempts = attempts - ? WHERE id = ?",
            [(back, key) for (key,) in keys],
        )
        running += len(keys)
    return running


def interrupt(conn: sqlite3.Connection, account: Account) -> bool:
    """End the claim that is out, its attempt not counted: what it was given is not there
    any more. False: there is none."""
    if account.hold_from is None or not requeue(conn, account, back=1):
        return False
    free(account)
    settle(conn, account)
    return True


def holds(account: Account | None, claim: Claim) -> bool:
    """Whether the claim is still the user's current one."""
    return (
        account is not None
        and account.incarnation == claim.incarnation
        and account.token == claim.token
        and account.hold_from is not None
    )


def renew(conn: sqlite3.Connection, claim: Claim, clock: Clock, lease: int) -> bool:
    """Extend the lease, if it was not lost."""
    account = accounts.find(conn, claim.user_id)
    if account is None or not holds(account, claim):
        return False
    now = clock()
    account.hold_from, account.hold_until = now, now + lease
    account.save(conn)
    return True


def release(
    conn: sqlite3.Connection, claim: Claim, clock: Clock, delay: int, back: int
) -> bool:
    """Give the jobs back. `back`: attempts to take back. False if the lease was lost."""
    account = accounts.find(conn, claim.user_id)
    if account is None or not holds(account, claim):
        return False
    requeue(conn, account, back)
    free(account)
    if delay > 0:
        now = clock()
        account.hold_from, account.hold_until = now, now + delay
    settle(conn, account)
    account.save(conn)
    return True


# ------------------------------------------------------------------ a plan's effect


def last_to_end(claim: Claim, end: JobEnd | None) -> int:
    """The position of the claim's last job that ends; of its last one where none does."""
    ending = [n for n, job in enumerate(claim.jobs) if _ends(job, end)]
    return ending[-1] if ending else len(claim.jobs) - 1


def _ends(job: ClaimedJob, end: JobEnd | None) -> bool:
    return end is not None and (end.jobs is None or job.id in end.jobs)


def finish(
    conn: sqlite3.Connection,
    account: Account,
    plan: WritePlan,
    results: Sequence[Results],
    clock: Clock,
) -> bool:
    """Keep the results with the claim's jobs and end those that the plan ends. Unless the
    claim goes on, frees or defers the user. Whether it left a freed user's jobs queued.
    `results` holds one entry per job of the claim."""
    claim, end = plan.claim, plan.end
    if claim is None:
        return False
    last, ended = last_to_end(claim, end), 0
    for n, (job, result) in enumerate(zip(claim.jobs, results, strict=True)):
        if end is None or not _ends(job, end):
            _keep(conn, account, job, result)
            continue
        if n == last:
            skipped = [*result.skipped, *end.skipped]
            result = replace(result, skipped=skipped, usage=end.usage)
        ended += _end(conn, account, job, result, end, plan.at)
    jobs.count_ended(conn, ended)
    if end is None and plan.defer is None:
        return False
    defer = plan.defer if account.deferral != HURRIED else None
    requeue(conn, account, back=1)
    free(account)
    settle(conn, account)
    if defer is not None and account.work != IDLE:
        _defer(account, defer, clock)
    return account.work != IDLE


def _keep(
    conn: sqlite3.Connection, account: Account, job: ClaimedJob, result: Results
) -> None:
    """Add results to a job that has not ended."""
    if not result:
        return
    key = pack(account.uid, job.seq)
    before = jobs.open_results(conn, key)
    if before is not None:
        conn.execute(
            "UPDATE jobs SET result = ? WHERE id = ?", ((before + result).dump(), key)
        )


def _end(
    conn: sqlite3.Connection,
    account: Account,
    job: ClaimedJob,
    result: Results,
    end: JobEnd,
    at: int,
) -> int:
    """End one job; how many that were."""
    key = pack(account.uid, job.seq)
    before = jobs.open_results(conn, key)
    if before is None:
        return 0
    jobs.end(conn, key, end.status, end.reason, at, (before + result).dump())
    return 1


# ------------------------------------------------------------------------ deferrals


def _defer(account: Account, seconds: float, clock: Clock) -> None:
    wait = int(seconds * 1_000_000)
    if wait > 0:
        now = clock()
        account.hold_from, account.hold_until = now, now + wait
        account.deferral = DEFERRED


def end_deferral(account: Account) -> bool:
    """End a deferral; False: there was none. One that the claim now out asks for later
    will not begin: who decided on it did not know of this."""
    if account.deferral == DEFERRED:
        free(account)
        return True
    if account.hold_from is not None:
        account.deferral = HURRIED
    return False


def hurry(conn: sqlite3.Connection, user_id: str) -> bool:
    """See `Store.hurry`."""
    account = accounts.find(conn, user_id)
    if account is None or account.hold_from is None:
        return False
    was_deferred = end_deferral(account)
    account.save(conn)
    return was_deferred
