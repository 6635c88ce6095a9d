"""What `bench.extraction` measured, as lines for a reader."""

from collections.abc import Iterator, Mapping
from typing import Any

Found = Mapping[str, Any]
_SHOWN = 12


def table(found: Found) -> str:
    """A report for a reader."""
    lines = [
        f"{found['run']}, read by: {found['read_by']}",
        f"mode {found['mode']}, embedder {found['embedder']}, prompt {found['prompt']}",
    ]
    match found["run"]:
        case "dialogues":
            lines += _dialogues(found)
        case "adversarial":
            lines += _adversarial(found)
        case _:
            lines += _locomo(found)
    fixed = found["fixed_prompt"]
    lines.append(
        f"fixed prompt: {fixed['tokens']} tokens, mem0's {fixed['mem0']['tokens']}"
    )
    for name, met in found.get("targets", {}).items():
        lines.append(f"{'met' if met else 'MISSED':8}{name}")
    return "\n".join(lines)


def _dialogues(found: Found) -> Iterator[str]:
    whole = found["supersession"]
    yield (
        f"{whole['passed']} of {whole['dialogues']} dialogues ended as they are to; "
        f"facts lost {whole['lost_facts']}, unverified {whole['unverified_facts']}"
    )
    for name, part in {"all": whole, **found["parts"]}.items():
        yield (
            f"{name:6}closings {part['closings']:4}  right {part['right']:4}  "
            f"wrong {part['wrong']:3}  precision {part['precision']}  recall {part['recall']}"
        )
    yield from _facts(found["facts"])
    dates = found["dates"]
    yield (
        f"dates from relative words: {dates['right']} of {dates['stored']} stored right, "
        f"{dates['with_a_relative_date']} there were"
    )
    yield from _cost(found["cost"])
    for name, why in list(whole["failed"].items())[:_SHOWN]:
        yield f"  {name}: {why}"
    if len(whole["failed"]) > _SHOWN:
        yield f"  and {len(whole['failed']) - _SHOWN} more (--json tells them)"


def _adversarial(found: Found) -> Iterator[str]:
    yield f"{found['dialogues']} dialogues, {found['seeds']} seeds"
    for name, one in found["attacks"].items():
        yield (
            f"{name:10}wrong proposals {one['wrong_proposals']:6} of {one['proposed']:6}  "
            f"wrong closings {one['wrong_closings']:5} ({one['of_them_held_out']} held out)"
        )
        yield from (f"  {line}" for line in one["which"][:_SHOWN])


def _locomo(found: Found) -> Iterator[str]:
    yield f"conversations: {', '.join(found['conversations'])}"
    for n, one in found["after_turns"].items():
        yield f"read after {n} turns, jobs {one['jobs']}, superseded {one['superseded']}"
        yield from (
            f"  {line}" for line in (*_facts(one["facts"]), *_cost(one["cost"]))
        )


def _facts(one: Found) -> Iterator[str]:
    yield (
        f"facts {one['facts']}, references {one['references']}: "
        f"recall {one['recall']}, precision {one['precision']}"
    )
    yield (
        f"junk {one['junk_rate']} {one['junk'] or ''}, duplicates {one['duplicate_rate']}"
    )


def _cost(one: Found) -> Iterator[str]:
    per = one["per_100_turns"]
    yield (
        f"per 100 turns: {per['calls']} calls, {per['prompt_tokens']} tokens in "
        f"({per['of_them_fixed_prompt']} fixed), {per['completion_tokens']} out"
    )
    prices = ", ".join(f"${v} {k}" for k, v in one["dollars_per_1000_turns"].items())
    yield f"per 1,000 turns: {prices} (example prices)"
