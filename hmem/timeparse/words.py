"""The English words of time, each with its class, and those that tell a noun from a date.

A class in small letters is a word as such; one in capitals has a value or a time.
"""

from typing import NamedTuple

from hmem.timeparse.spelling import SPELLED


class Amount(NamedTuple):
    """How many: the number meant, and what it may be at least and at most."""

    size: float
    low: float
    high: float


class Clock(NamedTuple):
    """A time of day: its first minute, how many it spans (60 for a full hour), and
    whether it may be either half of the day ("figures", "spoken": how it was said)."""

    minute: int
    size: int
    either: str = ""


class Unit(NamedTuple):
    """A unit of time."""

    name: str
    plural: bool = False


def exactly(size: float) -> Amount:
    """An amount that is that number."""
    return Amount(size, size, size)


def listed(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


_LITERALS = {
    "the": "the",
    "a": "a an",
    "of": "of",
    "in": "in",
    "during": "during throughout",
    "within": "within",
    "over": "over",
    "under": "under",
    "on": "on",
    "at": "at",
    "for": "for",
    "to": "to through thru",
    "until": "until till til",
    "up": "up",
    "and": "and &",
    "or": "or",
    "ago": "ago back",
    "before": "before preceding",
    "prior": "prior",
    "after": "after",
    "following": "following",
    "gone": "gone",
    "so": "so",
    "far": "far",
    "as": "as",
    "since": "since",
    "by": "by",
    "from": "from",
    "onwards": "onward onwards",
    "between": "between",
    "last": "last",
    "past": "past",
    "previous": "previous",
    "next": "next",
    "coming": "coming upcoming",
    "this": "this current",
    "early": "early",
    "mid": "mid middle midway halfway",
    "late": "late",
    "start": "start beginning commencing starting",
    "end": "end",
    "ending": "ending",
    "final": "final closing",
    "latter": "latter",
    "opening": "opening",
    "part": "part",
    "rest": "rest remainder",
    "half": "half",
    "later": "later",
    "earlier": "earlier",
    "around": "around approximately roughly almost nearly approx",
    "about": "about",
    "circa": "circa ca",
    "just": "just right shortly",
    "my": "my our your his her their its",
    "every": "every each any most many all some no one's that those",
    "other": "other",
    "these": "these",
    "more": "more",
    "less": "less",
    "than": "than",
    "now": "now present",
    "time": "time",
    "date": "date",
    "same": "same",
    "oclock": "o'clock oclock",
    "break": "holiday holidays vacation break hols",
}
_MONTHS = listed(
    """
    january february march april may june july august september october
    november december
    """
)
_SHORT_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8}
_SHORT_MONTHS |= {"sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12}
PLAIN_MONTHS = frozenset({1, 2, 7, 9, 10, 11, 12})
"""Months whose full name is no other word."""
WEAK_MONTHS = frozenset({"march", "may", "mar"})
"""Month words that are other words in small letters."""
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SHORT_DAYS = {"tue": 1, "tues": 1, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
_SHORT_DAYS |= {"mon": 0, "wed": 2, "sat": 5, "sun": 6}
WEAK_DAYS = frozenset({"mon", "wed", "sat", "sun"})
"""Short names of weekdays that are other words in small letters."""
_UNITS = "minute hour day week fortnight weekend month quarter year decade century"
_SEASONS = {"spring": 0, "summer": 1, "autumn": 2, "winter": 3}
_NUMBERS = listed(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen
    fourteen fifteen sixteen seventeen eighteen nineteen
    """
)
_TENS = listed(
    """
    twenty thirty forty fifty sixty seventy eighty ninety
    """
)
_ORDINALS = listed(
    """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh
    twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth
    nineteenth twentieth
    """
)
FUZZY = {
    "couple": exactly(2),
    "few": Amount(3, 2, 5),
    "several": Amount(4, 3, 8),
    "handful": Amount(4, 3, 6),
    "dozen": exactly(12),
}
PARTS = {
    "morning": (5, 12),
    "afternoon": (12, 18),
    "evening": (18, 24),
    "night": (18, 30),
    "lunchtime": (12, 14),
    "hours": (0, 6),
}
"""Parts of a day, in hours since its midnight; a night runs on to six. "Hours" are the
small ones."""
DECADES = {"thirties": 3, "forties": 4, "fifties": 5, "sixties": 6, "seventies": 7}
DECADES |= {"eighties": 8, "nineties": 9, "noughties": 10, "aughts": 10}

VAGUE = {"recently": "recently", "lately": "recently", "recent": "recent"}
VAGUE |= {"nowadays": "nowadays", "ytd": "year", "mtd": "month", "qtd": "quarter"}
"""Words of which honest readers make different stretches, and those "to date"."""

Entry = tuple[str, object]


def _lexicon() -> dict[str, Entry]:
    words: dict[str, Entry] = {}
    for name, spelled in _LITERALS.items():
        words |= dict.fromkeys(spelled.split(), (name, None))
    words |= {w: ("MONTH", i + 1) for i, w in enumerate(_MONTHS)}
    words |= {w: ("MONTH", i) for w, i in _SHORT_MONTHS.items()}
    words |= {w: ("WDAY", i) for i, w in enumerate(_DAYS)}
    words |= {w + "s": ("PLWDAY", i) for i, w in enumerate(_DAYS)}
    words |= {w: ("WEAKW", i) for w, i in _SHORT_DAYS.items()}
    for unit in _UNITS.split():
        words[unit] = ("UYEAR" if unit == "year" else "UNIT", Unit(unit))
        plural = "centuries" if unit == "century" else unit + "s"
        words[plural] = ("UNIT", Unit(unit, plural=True))
    words |= {w: ("SEASON", i) for w, i in _SEASONS.items()}
    words |= {w + "s": ("PLSEASON", i) for w, i in _SEASONS.items()}
    words |= {"fall": ("WEAKS", 2), "christmases": ("PLHOLI", "christmas")}
    words |= {w: ("NUMW", exactly(i + 1)) for i, w in enumerate(_NUMBERS)}
    words |= {w: ("TENS", exactly(10 * i + 20)) for i, w in enumerate(_TENS)}
    words |= {w: ("FUZZY", amount) for w, amount in FUZZY.items()}
    words |= {w: ("ORDW", i + 1) for i, w in enumerate(_ORDINALS)}
    words |= {w: ("PART", w) for w in PARTS if w != "hours"}
    words |= {w + "s": ("PLPART", w) for w in PARTS if w not in ("hours", "lunchtime")}
    words |= {w: ("DECADE", 1900 + 10 * i) for w, i in DECADES.items()}
    words |= {"today": ("DAY", 0), "yesterday": ("DAY", -1), "tomorrow": ("DAY", 1)}
    words |= {"tonight": ("TONIGHT", 0)}
    words |= {"noon": ("CLOCK", Clock(720, 60)), "midday": ("CLOCK", Clock(720, 60))}
    words |= {"midnight": ("CLOCK", Clock(0, 60)), "noonish": ("CLOCK", Clock(720, 60))}
    words |= {w: ("VAGUE", meant) for w, meant in VAGUE.items()}
    words |= {w: words[meant] for w, meant in SPELLED.items()}
    return words


LEXICON = _lexicon()
SKIPPED = frozenset(
    {"exactly", "precisely", "whole", "entire", "very", "swinging", "sometime"}
)
"""Words inside a phrase that change nothing."""

# What may follow a date. Any other word in small letters makes "Christmas" in "Christmas
# tree", "Tuesday" in "Tuesday meeting" and "5th" in "5th floor" a part of its name.
FUNCTION = frozenset(
    listed(
        """
    a an the and or but nor so yet if when where who whom whose which what why
    how that than then as because while since until till though although
    whether i you he she it we they me him her us them my your his its our
    their mine yours this these those there here someone anyone everyone
    nobody something anything everything nothing one is are was were be been
    being am isn aren wasn weren do does did don doesn didn done have has had
    haven hasn hadn having will would shall should can could may might must
    won wouldn can cannot couldn shouldn ll not no never ever always often
    usually sometimes only just also too again still already even almost maybe
    perhaps really together instead please rather in on at by to from of off
    for with without within about around over under after before between
    during through into onto out up down near against along among behind
    beside besides beyond despite except like past per toward towards upon via
    alone ago am pm each both all any some either neither another other such
    same went came got said told made took saw felt gave ate met left began
    started ended fell happened lived moved worked visited bought called
    """
    )
)
# Words after a number that make it a count. Plurals are recognised by their last letter.
COUNTED = frozenset(
    listed(
        """
    people percent men women children staff fish sheep feet euro yen yuan
    pounds square cubic million billion thousand hundred odd different other
    more new
    """
    )
)
# Occasions named by their year: "the 2022 trip".
OCCASIONS = frozenset(
    listed(
        """
    trip trips vacation holiday holidays conference election elections season
    olympics wedding reunion marathon tour festival edition summit retreat
    goals numbers results report review targets revenue sales figures okrs earnings
    planning forecast statement world cup games race budget taxes visit reunion convention championship concert exhibition
    """
    )
)
