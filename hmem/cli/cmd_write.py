"""`hmem add | delete`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hmem.cli import options
from hmem.cli.failing import A_TURN, Failed, Misused
from hmem.cli.opening import editing, settings
from hmem.cli.printing import print_json, receipt_line, receipt_values
from hmem.cli.progress import progress
from hmem.cli.transcript import BATCH, FORMS, Batch, batches, decode, parse, with_ids
from hmem.cli.waiting import wait_for

if TYPE_CHECKING:
    from hmem import Config, Memory, SyncReceipt

_SHOWN = 5
"""Receipts printed one by one; more are counted."""
_MOST = 1_000_000
"""Entries in a file."""


@click.command()
@click.argument("text", required=False, callback=options.words)
@options.user
@options.labels
@options.observed_at
@click.option(
    "--file",
    "source",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Messages: a JSON list, JSON lines or plain text; - is stdin.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="What the file is (default: by its first character: [ json, { jsonl).",
)
@click.option(
    "--infer/--no-infer",
    default=True,
    help="What is given are messages (default), or finished facts.",
)
@click.option("--wait", is_flag=True, help="Work on it, and wait until that has ended.")
@click.option(
    "--timeout",
    type=float,
    callback=options.seconds,
    help="With --wait: at most so many seconds.",
)
@click.option(
    "--progress/--no-progress",
    "shown",
    default=None,
    help="Say on stderr how far it is (default: on a terminal).",
)
@options.path
@options.json
def add(
    *,
    text: str | None,
    source: Path | None,
    form: Any,
    path: Path | None,
    wait: bool,
    timeout: float | None,
    shown: bool | None,
    as_json: bool,
    **said: Any,
) -> None:
    """Remember what was said.

    TEXT is one message of the user's. A --file is stored in batches; the same command
    run again goes on where it was broken off and stores nothing twice: for as long as
    receipts are kept (HMEM_RECEIPT_DAYS), and with --session-id for ever.

    What is durable then is queued. It is found at once, and worked on with --wait, by
    `hmem worker`, or by another process on the folder.
    """
    _agree(text, source, timeout, wait=wait)
    config = settings(path)
    if not wait and config.llm is not None:
        config = replace(config, worker="off")  # a model's call would be cut off
    parts = _alone(text, config, said)
    if source is not None:
        parts = _cut(source, form, config, said)
    with _memory(config) as mem:
        receipts = _store(mem, parts, said, shown=shown)
        late = wait_for(mem, receipts, timeout, shown=shown) if wait else None
        if late is not None:
            mem.close(timeout=0.0)  # it has been waited for
    _tell(receipts, sum(len(part.entries) for part in parts), as_json=as_json)
    if late is not None:
        raise Failed(late)
    bad = [r for r in receipts if r.status in ("partial", "dead")]
    if bad:
        raise Failed(f"{len(bad)} of {len(receipts)} jobs did not end well")


@click.command()
@click.argument("row_id", metavar="ID")
@options.user
@options.observed_at
@options.path
@options.json
def delete(
    *,
    row_id: str,
    user_id: str,
    observed_at: str | None,
    path: Path | None,
    as_json: bool,
) -> None:
    """Close a memory.

    It is no longer believed from --observed-at on, and stays as history.
    """
    with editing(path) as mem:
        closed = mem.delete(row_id, user_id=user_id, observed_at=observed_at)
        row = None if closed else mem.get(row_id, user_id=user_id)
    if row is not None and row.kind == "turn":
        raise Failed(A_TURN)
    if not closed:
        raise Failed("no open memory of this user has that id; nothing was closed")
    if as_json:
        print_json({"id": row_id, "closed": True})
    else:
        click.echo(f"closed {row_id}")


@contextmanager
def _memory(config: "Config") -> Iterator["Memory"]:
    from hmem import Memory

    with Memory(config) as mem:
        yield mem


def _cut(
    source: Path, form: Any, config: "Config", said: dict[str, Any]
) -> list[Batch]:
    """The file as batches. All of it is checked before any of it is stored."""
    dash, name = str(source) == "-", "stdin" if str(source) == "-" else str(source)
    data = sys.stdin.buffer.read() if dash else source.read_bytes()
    longest = config.max_message_chars if said["infer"] else config.max_item_chars
    entries = parse(decode(data, name), name, form=form, longest=longest)
    _check(entries, name, replace(config, max_messages=_MOST), said)
    seed = {
        key: said[key] for key in ("agent_id", "session_id", "observed_at", "infer")
    }
    if said["infer"] and said["session_id"] is not None:
        entries = with_ids(entries)
    return list(batches(entries, size=min(BATCH, config.max_messages), seed=seed))


def _agree(
    text: str | None, source: Path | None, timeout: float | None, *, wait: bool
) -> None:
    """Raises Misused for options that do not go together."""
    if (text is None) == (source is None):
        raise Misused("give either TEXT or --file")
    if text == "-":
        raise Misused("stdin is read by --file -")
    if timeout is not None and not wait:
        raise Misused("--timeout goes with --wait")


def _alone(text: str | None, config: "Config", said: dict[str, Any]) -> list[Batch]:
    """A text as the only entry of the only batch."""
    if text is None:
        return []
    _check([text], "TEXT", config, said)
    return [Batch(entries=(text,), key="")]


def _check(
    entries: Sequence[object], name: str, config: "Config", said: dict[str, Any]
) -> None:
    """Raises what adding them would, before there is a store, and Misused where no words
    are among them."""
    from hmem.inputs.scope import scope_of
    from hmem.saying import read_call

    given = dict(said)
    scope = scope_of(
        **{name: given.pop(name) for name in ("user_id", "agent_id", "session_id")}
    )
    call, skipped = read_call(
        list(entries), scope=scope, config=config, metadata=None, key=None, **given
    )
    if not call.size and all(one.reason == "no text" for one in skipped):
        raise Misused(f"{name} holds nothing")


def _store(
    mem: "Memory", parts: Sequence[Batch], said: dict[str, Any], *, shown: bool | None
) -> "list[SyncReceipt]":
    """Make every batch durable, in order."""
    from hmem.errors import HmemError

    receipts: list[SyncReceipt] = []
    total = sum(len(part.entries) for part in parts)
    with progress(total if len(parts) > 1 else 0, "stored", shown=shown) as advance:
        for part in parts:
            given = (
                {"messages": part.entries[0]}
                if not part.key
                else {
                    "messages": list(part.entries),
                    "idempotency_key": part.key,
                    "priority": "import",
                }
            )
            try:
                receipts.append(mem.add(**given, **said))
            except HmemError as e:
                if not receipts:
                    raise
                done = sum(len(p.entries) for p in parts[: len(receipts)])
                raise Failed(
                    f"{' '.join(str(e).split())} ({done} of {total} entries are stored;"
                    " the same command goes on from there)"
                ) from e
            advance(len(part.entries))
    return receipts


def _tell(receipts: "Sequence[SyncReceipt]", entries: int, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {"entries": entries, "receipts": [receipt_values(r) for r in receipts]}
        )
        return
    before = sum(receipt.repeated for receipt in receipts)
    if len(receipts) <= _SHOWN:
        for receipt in receipts:
            click.echo(receipt_line(receipt))
        return
    states = [receipt.status for receipt in receipts]
    counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states))
    repeated = f" ({before} of them stored before)" if before else ""
    click.echo(f"{entries} entries in {len(receipts)} jobs: {counts}{repeated}")
