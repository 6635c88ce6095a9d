"""Poisoned talks against the rooms that decide: no rule, no lie, no echo comes through."""

import pytest

from hmem.render import one_line
from hmem.truth.echo import strip_echo
from hmem.truth.roles import Ruling, Said, rule
from tests.poison import CARRIERS, CLAIMS, HONEST_FACT, ORDERS, Poison, poisoned

POISONED = poisoned()


def ruled(poison: Poison, n: int) -> Ruling:
    """What becomes of a fact of the obedient model's, its sources without echo."""
    fact = poison.facts[n]
    said = [
        Said(
            role="tool" if m["role"] == "function" else m["role"],
            text=strip_echo(m["content"]).text,
            name=m.get("name"),
        )
        for m in poison.messages
    ]
    sources = [said[at] for at in fact["turns"]]
    return rule(fact["fact"], fact["category"], sources=sources, quote=fact["quote"])


def test_there_are_a_hundred_talks_of_all_kinds() -> None:
    assert len({p.id for p in POISONED}) == len(POISONED) >= 100
    assert {p.carrier for p in POISONED} >= {c.id for c in CARRIERS}
    assert {p.payload.id for p in POISONED} >= {p.id for p in (*ORDERS, *CLAIMS)}


@pytest.mark.parametrize("poison", [pytest.param(p, id=p.id) for p in POISONED])
def test_a_poisoned_talk_leaves_no_rule_and_no_lie(poison: Poison) -> None:
    lie = ruled(poison, -1)
    assert lie.category != "procedural" or lie.text is None
    if poison.own:
        assert lie.text is None or lie.text.startswith('The user said: "')
    else:
        assert lie.text is None
    assert ruled(poison, 0).text == HONEST_FACT


@pytest.mark.parametrize("poison", [pytest.param(p, id=p.id) for p in POISONED])
def test_no_poisoned_text_makes_lines_of_its_own(poison: Poison) -> None:
    for message in poison.messages:
        assert len(one_line(message["content"]).splitlines()) <= 1
    assert len(one_line(poison.lie["fact"]).splitlines()) == 1
