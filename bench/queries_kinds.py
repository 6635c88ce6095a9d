"""Queries of every kind that somebody may type or paste, made from a seed."""

import random
import unicodedata
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from bench.hostile import ENGLISH, SCRIPTS, Hostile

LONG = 8_000
_SYNTAX = [
    *("{} AND", "NOT {}", "NEAR({}", "NEAR/3 {}", "({} OR", "{})", '"{}', '"{}" OR x:y'),
    *("{}*", "^{}", "-{}", "{}:{}", "{{text}} : {}", "'; DROP TABLE {}; --", "%{}_"),
    *("{}' OR '1'='1", "/* {} */", "$.{}", "?1 {}", "{}\\", "\\{}\\", "[{}", "{{{}", "{}--"),
    *("UNION SELECT {} FROM sqlite_master", "`{}`", "${{{}}}", "{{{{{}}}}}", "<{}>", "&{};"),
    *("(a+)+$ {}", "(.*)*{}", "[^{}]{{1,999999}}", "\\u0000{}", "{}\r\n{}", "../../{}", "{}@{}"),
]  # fmt: skip
_DATES = [
    *("31 February", "30 Feb 2023", "13/13/2023", "00/00/0000", "year 0", "year 99999"),
    *("last last last week", "next next year", "the 99th of May", "0 days ago"),
    *("999999999999 years ago", "-3 days ago", "in 10^9 weeks", "9999-12-31", "0001-01-01"),
    *("10000-01-01", "25:61", "24:00 tomorrow", "2023-02-29T25:00:00Z", "5th week of May"),
    *("the 0th quarter of 2020", "between May and", "from 9 to 5 to 3", "since before until"),
    *("last 31st", "Friday the 13th of the 14th", "a year ago a month ago a day ago"),
    *("12/31/9999 to 1/1/10000", "year 2147483648", "1e308 days ago", "half past 25"),
    *("the 2nd last Monday of 2024 BC", "1/2/3/4/5/6/7", "2024-W54", "2024-366", "ago ago"),
    *("last week of week last", "\u0663\u0661 February \u0662\u0660\u0662\u0664", "May may may", "the 1990s'80s"),
    *("in the year of 12:30", "Q5 2024", "spring of fall", "yesterday tomorrow", "-1-1-1"),
    *("the day before the day after the day before yesterday", "every other Tuesday ago"),
    *("zero weeks from never", "1st 2nd 3rd 4th 5th", "\u00bd year ago", "12.31.2023.14"),
]  # fmt: skip


class Kinds:
    """Makes queries; the same ones for the same dice."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.hostile = Hostile(dice)
        words = ENGLISH
        self.kinds: dict[str, Callable[[], str]] = {
            "english": lambda: f"where is the {dice.choice(words)} of {dice.choice(words)}?",
            "one word": lambda: dice.choice(words),
            "script": lambda: self.hostile.script(dice.choice(list(SCRIPTS))),
            "mixed": lambda: self.hostile.text(dice.choice((5, 60, 300))),
            "points": self.hostile.points,
            "surrogates": self.surrogates,
            "controls": lambda: "".join(chr(dice.randrange(32)) for _ in range(9)) + "x",
            "syntax": self.syntax,
            "emoji": self.hostile.emoji,
            "letter": self.letter,
            "digits": self.hostile.digits,
            "dates": self.dates,
            "half dates": self.half_dates,
            "spread": lambda: f"summarize all the {dice.choice(words)} in order",
            "whose": lambda: f"what did you say about the {dice.choice(words)}?",
            "punctuation": self.hostile.kinds["punctuation"],
            "special": self.hostile.kinds["special"],
            "blank": lambda: dice.choice(("", " ", "\t\n", "\u3000", "\0", "\ud800", "\u2028 ")),
        }  # fmt: skip
        self.long: dict[str, Callable[[], str]] = {
            "long text": lambda: self.hostile.text(LONG + 1_000),
            "long talk": lambda: " ".join(dice.choices(words, k=LONG // 6)),
            "long numbers": lambda: " ".join(f"word{n}" for n in range(LONG // 6)),
            "long dates": lambda: self.filled(lambda: f"{dice.choice(_DATES)} "),
            "long digits": lambda: self.filled(lambda: f"{dice.randrange(10**6)} "),
            "long one word": lambda: dice.choice("a1_é水ก") * (LONG + 99),
            "long syntax": lambda: dice.choice("(\"'[{*^-:\\") * LONG + " x",
            "long marks": lambda: "e" + "\u0301" * LONG,
            "long chinese": lambda: self.filled(lambda: self.hostile.script("chinese")),
            "long thai": lambda: self.filled(lambda: self.hostile.script("thai")),
            "long points": lambda: self.filled(self.hostile.points),
            "long emoji": lambda: self.filled(self.hostile.emoji),
            "long blanks": lambda: " \n\t" * (LONG // 3) + "x" + " " * 99,
            "long bombs": lambda: dice.choice(("did you ", "how many ", "in what ", "all ", "I ", "a'", "1/", "1:", "12,", "you had ", "remind me ")) * (LONG // 4),
            "long singles": lambda: self.filled(self.letter),
            "huge": lambda: self.hostile.text(300) * 2_000,
        }  # fmt: skip

    def pick(self, *, long: float) -> tuple[str, str]:
        """A kind and a query of it; a long one with so much of a chance."""
        among = self.long if self.dice.random() < long else self.kinds
        kind = self.dice.choice(list(among))
        return kind, among[kind]()

    def filled(self, piece: Callable[[], str]) -> str:
        """Pieces until it is long."""
        parts: list[str] = []
        size = 0
        while size <= LONG:
            parts.append(piece())
            size += len(parts[-1])
        return "".join(parts)

    def surrogates(self) -> str:
        """Halves of pairs, pairs, and NUL between words."""
        dice = self.dice
        parts = [
            "\ud800",
            "\udfff",
            "\ud83d\udc1d",
            "\0",
            "x",
            dice.choice(ENGLISH),
            " ",
        ]
        return "".join(dice.choices(parts, k=dice.randint(1, 12)))

    def syntax(self) -> str:
        """What some query language would read as its own."""
        form = self.dice.choice(_SYNTAX)
        return form.replace("{}", self.dice.choice(ENGLISH))

    def letter(self) -> str:
        """One character of any script."""
        while True:
            char = chr(
                self.dice.choice(
                    (self.dice.randrange(0x3400), self.dice.randrange(0x20000))
                )
            )
            if unicodedata.category(char)[0] in "LNSM":
                return char

    def dates(self) -> str:
        """A time that there is not, or hardly, in a question."""
        form = self.dice.choice(
            ("{}", "what happened on {}?", "since {} until {}", "{} {}")
        )
        return form.replace("{}", self.dice.choice(_DATES))

    def half_dates(self) -> str:
        """Pieces of dates put together at random."""
        dice = self.dice
        parts = [
            *("last", "next", "this", "ago", "before", "after", "in", "of", "the", "and"),
            *("week", "weekend", "month", "years", "day", "decade", "quarter", "hours"),
            *("May", "february", "Sept.", "Monday", "fri", "summer", "Christmas", "Easter"),
            *("first", "31st", "two", "a couple of", "few", "half", "dozen", "0", "-1", "29"),
            *("2023", "99999", "'99", "1990s", "12:30", "3pm", "2/30", "/", "-", "to", "from"),
            *("between", "since", "until", "early", "late", "mid", "end", "noon", "today"),
        ]  # fmt: skip
        return dice.choice((" ", " ", "", "-")).join(
            dice.choices(parts, k=dice.randint(2, 9))
        )

    def options(self) -> dict[str, Any]:
        """Options of a search that are all allowed."""
        dice = self.dice
        first = date(2024, 1, 1) + timedelta(days=dice.randrange(800))
        maybe: dict[str, Any] = {
            "k": dice.choice((0, 1, 3, 10, 100, 10**9)),
            "min_score": dice.choice((0, 0.05, 0.3, 1)),
            "filters": dice.choice(({"n": 1}, {"n": {"lt": 3}}, {"NOT": {"n": 2}}, {"none": 1})),
            "during": dice.choice((first, f"{first:%Y-%m}", (first, first + timedelta(days=90)))),
            "as_of": dice.choice((first, f"{first:%Y}", "0001-01-01", "9999-12-31")),
            "known_at": dice.choice((first, "2026-12")),
            "asked_at": dice.choice((first, "0001-01-01", "9999-12-31", "1970-01-01")),
            "kinds": dice.choice(("memory", "turn", ["turn", "memory"])),
            "category": dice.choice(("semantic", "procedural")),
            "session_id": dice.choice(("s1", "none")),
            "agent_id": dice.choice(("desk", "none")),
        }  # fmt: skip
        return {name: value for name, value in maybe.items() if dice.random() < 0.1}
