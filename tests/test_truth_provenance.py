"""A fact is verified only as far as the turns that it names bear it out."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmem.truth.provenance import Checked, check
from hmem.truth.quotes import find_quote
from hmem.truth.spoken import Stretch, spoken
from tests.forms import many

ZONE = ZoneInfo("UTC")
AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)  # a Monday


def checked(text: str, *sources: str, quote: str | None = None, **more: Any) -> Checked:
    given: dict[str, Any] = {"entities": (), "at": [AT] * len(sources), "zone": ZONE}
    given |= more
    entities = given.pop("entities")
    return check(text, quote, entities, sources, **given)


# ------------------------------------------------------------------------- quotes

SOURCE = "Well\u2026 I don\u2019t eat \u201cmeat\u201d  any more \u2014 since   May, I\u2019m vegan!"


@pytest.mark.parametrize(
    ("quote", "verbatim"),
    [
        ('I don\'t eat "meat" any more', "I don\u2019t eat \u201cmeat\u201d  any more"),
        ("i dont eat meat", "I don\u2019t eat \u201cmeat"),
        ("I'm vegan", "I\u2019m vegan"),
        ("'I'm vegan!'", "I\u2019m vegan"),
        ("any more - since May", "any more \u2014 since   May"),
        ("I don't eat ... I'm vegan", SOURCE[SOURCE.index("I don") : -1]),
        (
            "I don't eat [\u2026] since May",
            SOURCE[SOURCE.index("I don") : SOURCE.index(", I")],
        ),
        ("Well", "Well"),
    ],
)
def test_a_quote_is_found_however_it_is_typed(quote: str, verbatim: str) -> None:
    read = checked("The user is vegan", "hello", SOURCE, quote=quote)
    assert (read.quote, read.source, read.verified) == (verbatim, 1, True)
    assert read.quote in SOURCE


@pytest.mark.parametrize(
    "quote",
    [
        "I eat meat",
        "I'm vegan ... I don't eat",
        "eat any more",
        "hello I don't eat",
        "I\u2019m veg",
        "Ich bin vegan",
    ],
)
def test_a_quote_that_is_not_there_is_none_and_counts_against(quote: str) -> None:
    read = checked("The user is vegan", "hello", SOURCE, quote=quote)
    assert (read.quote, read.source, read.verified, read.why) == (
        None,
        None,
        False,
        ("quote",),
    )


def test_no_quote_at_all_is_no_reason_but_then_some_word_must_stand_there() -> None:
    assert checked("The user likes jazz", "I like jazz").verified
    assert checked("The user enjoys hiking", "We hiked all day").verified
    assert checked("The user likes jazz", "good morning").why == ("words",)
    assert checked("The user likes jazz", "good morning", quote="").why == ("words",)
    assert checked("The user is vegan", "no meat for me", quote="no meat").verified


# ------------------------------------------------------------------------ numbers


@pytest.mark.parametrize(
    ("fact", "source"),
    [
        ("Maya has 3 cats", "I have three cats"),
        ("Maya has three cats", "my 3 cats"),
        ("Maya ran 10,000 steps", "10k steps today"),
        ("Maya earns 2,500 euros", "they pay me 2500 \u20ac"),
        ("Maya earns $2,500", "they pay me 2500 dollars"),
        ("Maya has two dogs", "a couple of dogs"),
        ("Maya has a sister, one of five children", "we were 5 kids"),
        ("Maya finished 3rd", "I came third"),
        ("Maya is 34 years old", "I'm 34"),
        ("Maya goes twice a week", "2 times a week"),
        ("Version 1.2.3 is out", "we shipped 1.2.3"),
        ("Maya has a dozen eggs", "12 eggs"),
        ("Maya's first trip was to Rome", "I had never been away before Rome"),
    ],
)
def test_numbers_that_stand_in_the_source(fact: str, source: str) -> None:
    assert "number" not in checked(fact, source).why


@pytest.mark.parametrize(
    ("fact", "source"),
    [
        ("Maya has 4 cats", "I have three cats"),
        ("Maya has 3 cats", "I have cats"),
        ("Maya ran 5 miles", "I ran 5 km"),
        ("Maya earns $2,500", "they pay me 2500 \u20ac"),
        ("Maya finished 3rd", "I came second"),
        ("Maya earns 25,000", "I earn 2,500"),
        ("Version 1.2.4 is out", "we shipped 1.2.3"),
        ("Maya won 60% of the games", "I won 6 games"),
    ],
)
def test_numbers_that_do_not(fact: str, source: str) -> None:
    read = checked(fact, source)
    assert "number" in read.why
    assert not read.verified


# -------------------------------------------------------------------------- dates


@pytest.mark.parametrize(
    ("fact", "source"),
    [
        ("Maya moved on 7 May 2023", "I moved yesterday"),
        ("Maya moved on 2023-05-07", "I moved yesterday!"),
        ("Maya moved in May 2023", "I moved yesterday"),
        ("Maya moved in 2023", "I moved yesterday"),
        ("Maya moved on 8 May 2023", "I moved today"),
        ("Maya moved on May 7th", "We moved on the 7th of May"),
        ("Maya moved on 7 May 2023", "We moved on the 7th of May"),
        ("Maya moved on 7 May 2023", "We moved on the 7th"),
        ("Maya moved on 20 December 2022", "we moved on December 20"),
        ("Maya moved in April 2023", "I moved last month"),
        ("Maya moved in 2022", "I moved last year"),
        ("Maya moved in 2013", "I moved ten years ago"),
        ("Maya has lived there since 2019", "I have lived here for four years"),
        ("Maya met Tom on 5 May 2023", "I met Tom last Friday"),
        ("Maya met Tom on Friday", "I met Tom last Friday"),
        ("Maya flies on 12 May 2023", "I fly this Friday"),
        ("Maya flies on 12 May 2023", "I fly on Friday"),
        ("Maya flies in June 2023", "I fly next month"),
        ("Maya painted on 3 May 2023", "I painted it last week"),
        ("Maya was ill on 24 April 2023", "I was ill two weeks ago"),
        ("Maya was born in May 1990", "born in May 1990"),
        ("Maya was born on 3 May 1990", "my birthday is 1990-05-03"),
        ("The meeting is at 5 pm", "meet me at 17:00"),
        ("The meeting is at 17:00", "meet me at 5"),
        ("Maya camped in the summer of 2022", "we camped last summer"),
        ("The call was at 13:56", "I am calling now"),
        ("Maya's yoga is on Mondays", "yoga every monday"),
        ("Maya moved on 1/2/2023", "it was 1/2/2023"),
    ],
)
def test_dates_that_stand_in_the_source_or_follow_from_its_time(
    fact: str, source: str
) -> None:
    read = checked(fact, source, names=["Maya", "Tom"])
    assert "date" not in read.why
    assert "number" not in read.why


@pytest.mark.parametrize(
    ("fact", "source"),
    [
        ("Maya moved on 6 May 2023", "I moved yesterday"),
        ("Maya moved on 7 May 2022", "I moved yesterday"),
        ("Maya moved in June 2023", "I moved yesterday"),
        ("Maya moved in 2021", "I moved yesterday"),
        ("Maya moved on 8 June 2023", "We moved on the 7th of June"),
        ("Maya moved on 7 May 2019", "We moved on the 7th of May"),
        ("Maya moved on 14 February 2023", "I moved last month"),
        ("Maya moved on 14 April 2023", "I moved last month"),
        ("Maya moved in 2021", "I moved last year"),
        ("Maya met Tom on Wednesday", "I met Tom last Friday"),
        ("The meeting is at 6 pm", "meet me at 17:00"),
        ("Maya was born in May 1991", "born in May 1990"),
        ("Maya moved on 2/1/2023", "it was 1/2/2023"),
        ("Maya moved on 1 March 2024", "hello there"),
    ],
)
def test_dates_that_do_not(fact: str, source: str) -> None:
    assert "date" in checked(fact, source, names=["Maya", "Tom"]).why


def test_yesterday_is_the_day_before_in_the_users_own_zone() -> None:
    late = datetime(2023, 5, 8, 23, 30, tzinfo=UTC)  # 9 May in Tokyo
    tokyo = ZoneInfo("Asia/Tokyo")
    fact, source = "Maya moved on 8 May 2023", "I moved yesterday"
    given = {"names": ["Maya"], "at": [late]}
    assert checked(fact, source, zone=tokyo, **given).verified
    early = datetime(2023, 5, 10, 1, 0, tzinfo=UTC)  # 9 May in New York
    given["at"] = [early]
    assert checked(fact, source, zone=ZoneInfo("America/New_York"), **given).verified
    assert checked(fact, source, **given).why == ("date",)


def test_each_source_counts_from_its_own_time() -> None:
    times = [AT, AT + timedelta(days=30)]
    sources = ("I moved yesterday", "I cut my hair yesterday")
    assert checked("Cut on 6 June 2023", *sources, at=times).verified
    assert checked("Moved on 7 May 2023", *sources, at=times).verified
    assert checked("Cut on 5 June 2023", *sources, at=times).why == ("date",)


def test_another_reader_of_times_can_be_given() -> None:
    def when(text: str, *, at: datetime, zone: ZoneInfo) -> Iterator[Stretch]:
        if "a fortnight back" in text:
            day = at.replace(hour=0, minute=0) - timedelta(days=14)
            yield Stretch(day, day + timedelta(days=1))

    fact, source = "Maya moved on 24 April 2023", "I moved a fortnight back"
    assert "date" in checked(fact, source, names=["Maya"]).why
    assert checked(fact, source, names=["Maya"], when=when).verified


# -------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("fact", "source", "more"),
    [
        ("Maya moved to Rome", "I moved to Rome", {"names": ["Maya Lin"]}),
        ("The user met Tom's mother", "I met Toms mother", {}),
        ("The user met the Millers", "met Mr. Miller and family", {}),
        ("The user uses VS Code", "vs code is what I use", {}),
        ("The user met José", "I met Jose", {}),
        ("The user read War and Peace", "just read war and peace", {}),
        ("The user flies with easyJet", "flying EASYJET", {}),
        ("The assistant recommended Rome to the user", "go to Rome", {}),
        ("The user moved in May", "I moved this month", {}),
        ("Likes tea", "I like tea", {}),
        ("Hiking is the user's hobby", "I hike a lot", {}),
        ("用户住在北京", "我住在北京", {"entities": ("北京",)}),
    ],
)
def test_names_that_stand_in_the_source_or_are_a_talkers(
    fact: str, source: str, more: dict[str, Any]
) -> None:
    assert "name" not in checked(fact, source, **more).why


@pytest.mark.parametrize(
    ("fact", "source", "more"),
    [
        ("The user moved to Milan", "I moved to Rome", {}),
        ("The user met Tom Miller", "I met Tom", {}),
        ("Anna lives in Rome", "I live in Rome", {}),
        ("The user is called Nono", "hi there", {}),
        ("The user met Martina", "I met Martin", {}),
        ("The user works at acme", "I work at a bank", {"entities": ("acme",)}),
        ("用户住在上海", "我住在北京", {"entities": ("上海",)}),
    ],
)
def test_names_that_do_not(fact: str, source: str, more: dict[str, Any]) -> None:
    read = checked(fact, source, **more)
    assert "name" in read.why
    assert read.entities == ()


def test_entities_that_nobody_named_are_dropped() -> None:
    entities = ("rome", "italy", "the louvre")
    read = checked("The user visited Rome", "I saw Rome", entities=entities)
    assert (read.entities, read.verified) == (("rome",), True)


def test_a_repeated_invention_of_a_model_is_not_verified() -> None:
    sources = ("ok", "thanks a lot", "see you")
    fact = "The user, Elena, is a software engineer at Google in Seattle"
    assert checked(fact, *sources, quote="I work at Google").why == (
        "quote",
        "name",
        "words",
    )


def test_all_reasons_come_at_once_and_never_quote_the_text() -> None:
    read = checked("Tom paid 5 euros to Ann on 3 March 2020", "hello", quote="bye")
    assert read.why == ("quote", "number", "date", "name", "words")


@settings(max_examples=many(50, 100), deadline=None)
@given(
    st.text(st.characters(exclude_categories=[]), max_size=80),
    st.text(st.characters(exclude_categories=[]), max_size=80),
    st.datetimes(timezones=st.just(UTC)),
)
def test_any_text_is_checked_at_any_time(fact: str, source: str, at: datetime) -> None:
    read = check(fact, source, (source[:5],), (source,), at=[at], zone=ZONE)
    assert read.verified == (not read.why)
    assert read.quote is None or read.quote in source
    assert check(source, None, (), (source,), at=[at], zone=ZONE).why in (
        (),
        ("words",),
    )


def test_a_long_source_takes_no_long_time() -> None:
    source = "I moved yesterday and met Tom at 5 on Friday in May. " * 4_000
    find_quote("met Ann at 5", [source])
    stretches = list(spoken("yesterday " * 20_000, at=AT, zone=ZONE))
    assert len(stretches) == 20_000
