"""What a question is after, and the part of a text that says most about it."""

import pytest

from hmem.text import lexical
from hmem.text.excerpts import excerpt
from hmem.text.questions import wants_all, whose_words


@pytest.mark.parametrize(
    "question",
    [
        "Which glaze did you recommend for porcelain?",
        "What was the name of the hotel you suggested?",
        "Can you remind me of the seventh item on the list you gave me?",
        "I was looking at our previous chat about kilns. What temperature was it?",
        "What was your advice about the loan?",
        "You had mentioned three bakeries; which was the second?",
        "Haven't you already told me how to prune it?",
        "What was it you\u2019d said about tides?",
    ],
)
def test_questions_about_what_the_assistant_said(question: str) -> None:
    assert whose_words(question) == "assistant"


@pytest.mark.parametrize(
    "question",
    [
        "How long did I say the trip takes?",
        "In which order did I bring up the rooms of the house?",
        "What was the name I mentioned for the boat?",
        "List the topics I've talked about.",
    ],
)
def test_questions_about_what_the_asker_said(question: str) -> None:
    assert whose_words(question) == "user"


@pytest.mark.parametrize(
    "question",
    [
        "Where does Maya live?",
        "Could you suggest a name for the boat?",
        "What would you recommend for a wet garden?",
        "Can you show me how to bake rye bread?",
        "How would you tell a plum from a damson?",
        "I am planning a trip. Can you help me?",
        "",
        "\u4f60\u63a8\u8350\u4e86\u4ec0\u4e48\uff1f",
    ],
)
def test_requests_are_not_about_what_was_said(question: str) -> None:
    assert whose_words(question) == "any"


def test_a_summary_is_of_what_both_said() -> None:
    assert whose_words("Can you summarise the kiln project?") == "both"


@pytest.mark.parametrize(
    ("question", "whose"),
    [
        ("How did I wire the second kiln?", "both"),
        ("Which steps did I take to level the floor?", "both"),
        ("What approach had I outlined for the roof?", "both"),
        ("How did I say the kiln is wired?", "user"),
        ("How did you recommend wiring the kiln?", "assistant"),
        ("How can I wire a kiln?", "any"),
        ("What steps would make the floor level?", "any"),
    ],
)
def test_how_something_was_done_an_assistant_may_have_laid_out(
    question: str, whose: str
) -> None:
    assert whose_words(question) == whose
    assert whose_words("Give me an overview of what I said of the kiln.") == "user"
    assert whose_words("Recap what you recommended.") == "assistant"


@pytest.mark.parametrize(
    ("question", "everything"),
    [
        ("In what order did I visit the islands?", True),
        ("Can you summarise how the garden has changed?", True),
        ("Give me an overview of the house project.", True),
        ("Tell me everything about the dog.", True),
        ("How many different boats have I owned?", True),
        ("How many times did we go to the lake?", True),
        ("How many chairs do I have in total?", True),
        ("List all of my exams.", True),
        ("How has my knee progressed since spring?", True),
        ("How many days are between the exam and the trip?", False),
        ("How many guests fit in the barn?", False),
        ("Please list the order in which I sold the boats.", True),
        ("What do I need in order to bake rye bread?", False),
        ("What is the order number of the lamp?", False),
        ("Where does Maya live?", False),
        ("Where is Allen street?", False),
    ],
)
def test_questions_that_want_a_little_of_everything(
    question: str, *, everything: bool
) -> None:
    assert wants_all(question) is everything


def test_a_huge_question_is_read_at_both_ends() -> None:
    filler = "x " * 100_000
    assert wants_all(filler + "so, in what order?")
    assert wants_all("give me a summary of " + filler)
    assert not wants_all(filler + "in what order? " + filler)


# ---------------------------------------------------------------------- excerpts

TEXT = (
    "We moved the piano on Monday. The kiln cracked two bowls. "
    "My brother came by for soup. Rain fell all week."
)


def terms(query: str) -> set[int]:
    return set(lexical(query).tolist())


def test_a_short_text_is_its_own_excerpt() -> None:
    assert excerpt(TEXT, terms("kiln"), limit=500) == TEXT


def test_the_sentence_that_answers_is_shown_and_cuts_are_marked() -> None:
    assert excerpt(TEXT, terms("did the kiln crack bowls"), limit=40) == (
        "\u2026 The kiln cracked two bowls. \u2026"
    )
    assert excerpt(TEXT, terms("piano"), limit=40) == (
        "We moved the piano on Monday. \u2026"
    )


def test_what_fits_beside_it_is_shown_too() -> None:
    assert excerpt(TEXT, terms("soup"), limit=62) == (
        "\u2026 The kiln cracked two bowls. My brother came by for soup. \u2026"
    )


def test_of_sentences_that_say_as_much_the_first_is_shown() -> None:
    alike = "We moved pianos. We sold canoes. We fed goats."
    assert excerpt(alike, set(), limit=20) == "We moved pianos. \u2026"


def test_a_sentence_that_says_more_is_preferred_to_one_that_says_less() -> None:
    text = "Wow, hey! So good. The old canoe was sold at the harbour market. Bye now!"
    assert "The old canoe was sold" in excerpt(text, set(), limit=50)


def test_a_dot_inside_a_word_ends_no_sentence() -> None:
    text = "Set kiln.heat to 3.5 with care. " + "Then wait for the glow of it all. " * 4
    assert excerpt(text, terms("kiln.heat"), limit=40) == (
        "Set kiln.heat to 3.5 with care. \u2026"
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param(
            "so " * 90 + "the kiln cracked " + "and on " * 90, "kiln", id="talk"
        ),
        pytest.param("天" * 300 + "窯" + "地" * 300, "窯", id="no spaces"),
        pytest.param("_" * 300 + " kiln " + "-" * 300, "kiln", id="rulers"),
        pytest.param("| x " * 90 + "| kiln |" + " y |" * 90, "kiln", id="table"),
    ],
)
def test_of_a_sentence_without_end_the_part_asked_for_is_shown(
    text: str, word: str
) -> None:
    got = excerpt(text, terms(word), limit=140)
    assert word in got
    assert len(got) <= 144


@pytest.mark.parametrize("limit", [10, 40, 140])
@pytest.mark.parametrize(
    "text",
    [
        "word " * 200,
        "x" * 900,
        "\n".join(f"line {n} of the kiln log" for n in range(60)),
        "\u7a91\u7089\u88c2\u4e86\u3002" * 60,
        "!!! ... ??? " * 40,
        " " * 300 + "kiln" + " " * 300,
        ". \n " * 300 + "ash" + " \n.." * 300,
    ],
)
def test_an_excerpt_keeps_to_its_limit_and_to_the_text(text: str, limit: int) -> None:
    got = excerpt(text, terms("kiln"), limit=limit)
    assert len(got) <= limit + 4
    inner = got.removeprefix("\u2026 ").removesuffix(" \u2026")
    assert inner in text
    assert inner.strip() or not text.strip()
