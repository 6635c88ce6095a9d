"""The talks written by hand, what counts as their right end, and who proposes what."""

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from bench.dialogues import Dialogue, load, parse
from bench.proposals import ATTACKS, Adversary, Perfect, numbered, turns_twice
from bench.supersession import (
    judge,
    strangers,
    summary,
    wrong_closings,
)
from hmem import Config
from hmem.extract.fields import event
from hmem.prompts import EXAMPLE_NAMES
from hmem.text import normalise
from tests.bench_talk import TALK, ended

DIALOGUES = load()
BY_ID = {one.id: one for one in DIALOGUES}


@pytest.fixture
def talk() -> Dialogue:
    (one,) = parse(TALK)
    return one


# ---------------------------------------------------------------------- the talks


def test_there_are_talks_of_all_kinds_and_a_part_is_held_out() -> None:
    kinds = Counter(one.kind for one in DIALOGUES)
    traps = sum(n for kind, n in kinds.items() if kind.startswith("trap"))
    assert len(DIALOGUES) >= 150
    assert traps >= 50
    assert sum(one.held for one in DIALOGUES) >= 30
    assert {
        *("moved", "job", "partner", "diet", "number", "plan", "pet", "name", "ended"),
        *("correction", "preference", "back and forth", "late", "equal times", "chain"),
    } <= set(kinds)
    assert {
        *("additive", "visit", "plan", "question", "hypothetical", "same name"),
        *("relation", "assistant", "tool", "other slot", "temporary", "quotation"),
        *("negation", "two talkers", "late"),
    } <= {kind.removeprefix("trap: ") for kind in kinds}


def test_every_quote_stands_in_a_turn_of_its_add_and_every_fact_has_one() -> None:
    for one in DIALOGUES:
        for add in one.adds:
            for fact in add.facts:
                assert fact.quote, (one.id, fact.key)
                assert all(fact.quote in add.turns[n].text for n in fact.turns)
                assert set(map(normalise, fact.names)) <= {
                    name
                    for name in map(normalise, fact.names)
                    if name in normalise(fact.text)
                }, (one.id, fact.key)


def test_no_two_talks_share_a_turn_a_person_or_a_name_of_the_prompt() -> None:
    assert turns_twice(DIALOGUES) == []
    people = [one.me for one in DIALOGUES if one.me is not None]
    assert len(set(people)) == len(people)
    words = {
        word
        for one in DIALOGUES
        for fact in one.facts().values()
        for word in re.findall(r"\w+", normalise(fact.text))
    }
    assert not words & EXAMPLE_NAMES


def test_what_is_to_be_closed_is_what_a_fact_replaces_or_comes_late_to() -> None:
    for one in DIALOGUES:
        facts = one.facts()
        proposed = {(f.target, key) for key, f in facts.items() if f.target}
        at = {fact.key: n for n, add in enumerate(one.adds) for fact in add.facts}
        for old, new in one.closed:
            assert new is not None
            when = [one.adds[at[key]].at for key in (old, new)]
            assert when[0] <= when[1], (one.id, old)  # never closed by an older one
            if "late" not in one.kind:
                assert (old, new) in proposed, (one.id, old)
        closed = {old for old, _ in one.closed}
        assert len(proposed) <= len(closed), one.id


def test_a_trap_closes_nothing_but_of_the_one_it_is_about() -> None:
    for one in DIALOGUES:
        if one.kind.startswith("trap") and not one.closed:
            assert all(fact.target is None for fact in one.facts().values())
            tempting = any(fact.tempts or fact.repeats for fact in one.facts().values())
            assert tempting or one.never, one.id
        for key, fact in one.facts().items():
            tempting = {(old, key) for old in fact.tempts}
            assert not tempting & one.closed, one.id


WEEKDAYS = (
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
)
WORDS = {"two": 2, "three": 3}


def worked_out(said: str, on: date) -> date | None:
    """The first day that words mean, for the plainest of them."""
    said = said.lower().removeprefix("since ").removeprefix("from ").removeprefix("on ")
    days = {"today": 0, "tonight": 0, "this morning": 0, "yesterday": -1, "hier": -1}
    days |= {"last night": -1, "the day before yesterday": -2}
    if said in days:
        return on + timedelta(days=days[said])
    if found := re.fullmatch(r"(\w+) (days|weeks) ago", said):
        number = WORDS[found[1]] * (7 if found[2] == "weeks" else 1)
        return on - timedelta(days=number)
    monday = on - timedelta(days=on.weekday())
    whole = {"this week": monday, "last week": monday - timedelta(days=7)}
    whole |= {"this month": on.replace(day=1), "this year": date(on.year, 1, 1)}
    whole["last month"] = (on.replace(day=1) - timedelta(days=1)).replace(day=1)
    whole["next year"] = date(on.year + 1, 1, 1)
    if said in whole:
        return whole[said]
    day = said.removeprefix("last ")
    if day in WEEKDAYS:
        back = (on.weekday() - WEEKDAYS.index(day)) % 7 or 7
        return on - timedelta(days=back)
    return None


def test_the_dates_that_were_worked_out_by_hand_are_right() -> None:
    seen = 0
    for one in DIALOGUES:
        for add in one.adds:
            for fact in add.facts:
                if not fact.said:
                    continue
                texts = " ".join(add.turns[n].text for n in fact.turns)
                assert fact.said in texts, (one.id, fact.said)
                start = event({"when": fact.when}, Config().zone).start
                assert start is not None, (one.id, fact.when)
                meant = worked_out(fact.said, add.at.date())
                if meant is not None:
                    seen += 1
                    assert start.date() == meant, (one.id, fact.said)
    assert seen >= 50


def test_the_closings_allowed_skip_steps_and_let_what_ended_end_alone() -> None:
    lead = BY_ID["lead-of-five"].allowed()
    assert ("bogdan", "mirela") in lead
    assert ("mirela", "bogdan") not in lead
    quit_ = BY_ID["job-quit"]
    assert quit_.allowed() == {("nights", "quit"), ("nights", None)}
    assert ("fish", None) not in BY_ID["diet-fish-again"].allowed()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("* ghost: text", "begins with its date"),
        ("at 2026-01-05\n> Noor: hello\n    quote: x", "fields without a fact"),
        (
            "at 2026-01-05\n> Noor: hello\n* a: b\n    quote: hello\n    colour: x",
            "no field",
        ),
        (
            "at 2026-01-05\n> Noor: hello\n* a: b\n    quote: bye",
            "no turn has its quote",
        ),
        ("at 2026-01-05\n> Noor: hello\n* a: b\n    replaces: c", "no earlier fact c"),
        ("at 2026-01-05\n> Noor: hello\n* a: b\nclosed: a by z", "unknown"),
        ("at 2026-01-05\n> Noor: hello\n* a: b\nclosed: a", "not 'key by key'"),
        ("at 2026-01-05\nwhat is this", "unknown line: what"),
        ("at yesterday", "Invalid isoformat"),
        ("at 2026-01-05\n> hello", "a colon and a text"),
    ],
)
def test_a_talk_that_is_written_wrongly_is_refused(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse(f"## a | moved | Noor\n{line}\n## b | moved | Noor")


# ----------------------------------------------------------------------- the verdicts


def test_a_talk_that_ended_well_passes(talk: Dialogue) -> None:
    verdict = judge(ended(talk, home=("2026-03-09", "ghent")))
    assert verdict.passed
    assert verdict.right == {("home", "ghent")}
    found = summary([verdict])
    assert (found["precision"], found["recall"], found["failed"]) == (1.0, 1.0, {})


def test_a_wrong_closing_and_a_missing_one_are_counted(talk: Dialogue) -> None:
    played = ended(talk, chess=("2026-03-09", "ghent"))
    verdict = judge(played)
    assert verdict.wrong == {("chess", "ghent")}
    assert verdict.missed == {("home", "ghent")}
    assert wrong_closings(played) == [("talk", "chess", "ghent")]
    found = summary([verdict])
    assert (found["precision"], found["recall"]) == (0.0, 0.0)
    assert found["failed"]["talk"]["missed"] == ["home by ghent"]


def test_a_newer_fact_closed_by_an_older_one_is_wrong(talk: Dialogue) -> None:
    played = ended(talk, ghent=("2026-03-09", "home"))
    assert wrong_closings(played) == [("talk", "ghent", "home")]


def test_what_is_closed_without_successor_is_right_only_where_it_ended(
    talk: Dialogue,
) -> None:
    moved = judge(ended(talk, home=("2026-03-10", None)))
    assert (moved.missed, moved.wrong) == ({("home", "ghent")}, frozenset())
    early = ended(talk, home=("2026-03-01", None))
    assert wrong_closings(early) == [("talk", "home", None)]
    quit_ = BY_ID["job-quit"]
    assert judge(ended(quit_, nights=("2026-02-19", None))).passed
    deleted = ended(talk, chess=("2026-03-09", None))
    assert wrong_closings(deleted) == [("talk", "chess", None)]
    deleted.deleted.add("chess")
    assert wrong_closings(deleted) == []


def test_beliefs_that_overlap_and_facts_that_are_lost_fail_a_talk(
    talk: Dialogue,
) -> None:
    beside = judge(ended(talk, home=("2026-05-01", "ghent")))
    assert beside.problems == ("home is believed beside ghent",)
    inverted = judge(ended(talk, home=("2025-01-01", "ghent")))
    assert "home ends before it begins" in inverted.problems
    played = ended(talk, home=("2026-03-09", "ghent"))
    del played.rows["chess"]
    assert judge(played).lost == ("chess",)
    assert not judge(played).passed


def test_a_closing_by_a_stranger_is_wrong_whatever_it_is_called(talk: Dialogue) -> None:
    played = ended(talk)
    other = BY_ID["job-quit"]
    played.rows["ghent"].dialogue = other
    played.rows["home"].record = replace(
        played.rows["home"].record,
        valid_to=datetime(2026, 3, 9, tzinfo=UTC),
        superseded_by="ghent",
    )
    assert wrong_closings(played) == [("talk", "home", "job-quit.ghent")]


# ---------------------------------------------------------------------- the proposals


PROMPT = """\
CALENDAR (times are of UTC)
  Mon 2026-03-09
MEMORIES
[0] Noor plays chess (since 2026-01-05)
[1] Noor lives in Bristol (since 2026-01-05)
NEW TURNS
[0] Mon 2026-03-09 12:00 Noor (user)
  I moved to Ghent last week!
[1] Mon 2026-03-09 12:00 assistant
  How nice.
"""


def asked(model: Perfect, prompt: str = PROMPT) -> list[dict[str, object]]:
    reply = model([{"role": "user", "content": prompt}])
    assert isinstance(reply, dict)
    return list(reply["facts"])


def test_a_perfect_model_names_what_it_replaces_as_the_prompt_numbers_it(
    talk: Dialogue,
) -> None:
    model = Perfect([talk])
    (fact,) = asked(model)
    assert (fact["replaces"], fact["turns"]) == ([1], [0])
    assert fact["reason"]
    hidden = PROMPT.replace("[1] Noor lives in Bristol (since 2026-01-05)\n", "")
    (fact,) = asked(model, hidden)
    assert fact["replaces"] == []
    assert model.tally.not_shown == [("talk", "ghent")]
    assert asked(model, PROMPT.replace("I moved", "We moved")) == []
    assert model.tally.unknown_turns == 1


def test_memories_are_read_up_to_the_next_heading() -> None:
    assert numbered(PROMPT, "MEMORIES") == {
        0: "Noor plays chess",
        1: "Noor lives in Bristol",
    }
    assert numbered(PROMPT, "CANDIDATES") == {}


def test_a_second_opinion_is_answered_from_the_same_knowledge(talk: Dialogue) -> None:
    prompt = (
        "CANDIDATES\n"
        "[0] Noor moved from Bristol to Ghent in the week of 2026-03-02 (said 2026-03-09)\n"
        "[1] Somebody else (said 2026-03-09)\n"
        "MEMORIES\n[0] Noor lives in Bristol (since 2026-01-05)\n"
    )
    reply = Perfect([talk])([{"role": "user", "content": prompt}])
    assert isinstance(reply, dict)
    told = [(d["action"], d["memory"]) for d in reply["decisions"]]
    assert told == [("UPDATE", [0]), ("ADD", [])]


def test_adversaries_find_the_same_facts_and_differ_in_what_they_replace(
    talk: Dialogue,
) -> None:
    targets = {
        attack: [fact["replaces"] for fact in asked(Adversary([talk], attack=attack))]
        for attack in ATTACKS
    }
    assert targets["tempting"] == targets["worst"] == [[0]]
    assert targets["subject"] == [[]]  # nobody else is shown
    assert len(targets["flood"]) == 2  # one more wording, so that each number is named
    assert sorted(n for named in targets["flood"] for n in named if n in (0, 1)) in (
        [0, 0, 1],
        [0, 1, 1],
    )
    again = [asked(Adversary([talk], attack="random", seed=s)) for s in (1, 1, 2, 3, 4)]
    assert again[0] == again[1]
    assert len({str(one) for one in again}) > 1
    with pytest.raises(ValueError, match="an attack is one of"):
        Adversary([talk], attack="polite")


def test_an_adversary_counts_what_of_it_is_wrong(talk: Dialogue) -> None:
    model = Adversary([talk], attack="tempting")
    asked(model)
    assert (model.tally.proposed, model.tally.wrong) == (1, 1)
    backwards = Adversary([talk], attack="newer", seed=1)
    asked(backwards)
    assert backwards.tally.proposed == backwards.tally.wrong == 1


def test_strangers_are_never_the_same_person() -> None:
    for one, other in strangers(DIALOGUES):
        assert one is not other
        assert one.me != other.me
