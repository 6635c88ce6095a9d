"""Rules for words that are times only beside others, and for what is none at all."""

from hmem.timeparse.numbers import AMOUNTS
from hmem.timeparse.phrase import Now
from hmem.timeparse.rules import Made, Rule, Stage, dead
from hmem.timeparse.tokens import Token
from hmem.timeparse.vague import VAGUE


def _taken_as(code: str) -> Rule:
    """Nothing but another class for a word whose neighbours tell what it is."""

    def build(_: Now, tokens: list[Token]) -> Made:
        return Token(code, 0, 0, tokens[0].value, tokens[0].time)

    return code, build


_MONTH, _WDAY, _SEASON = (_taken_as(c)[1] for c in ("MONTH", "WDAY", "SEASON"))

_REPEATED = "UNIT|WDAY|WEAKW|ANYMONTH|SEASON|PART|HOLI"
_NOT_SAME = "(?!(last UYEAR|in ANYYEAR))"  # "the same day last year"
WORDS = Stage(
    VAGUE,
    AMOUNTS,
    (
        # "may", "march", "sun", "sat", "fall": only where the neighbours tell
        ("(?<=IN|since|until|early|mid|late|of|last|between|from) WEAKM", _MONTH),
        ("(?<=ANYMONTH (and|or|to|until|dash|slash)) WEAKM", _MONTH),
        ("(?<=ORD) WEAKM", _MONTH),
        ("(?<=(on|since|until|by|before|after) NUM) WEAKM", _MONTH),
        ("(?<=on|since|until|by|before|after) WEAKM (?=NUM)", _MONTH),
        ("WEAKM (?=ANYYEAR|ORD|NUM comma? ANYYEAR|PAIR)", _MONTH),
        ("(?<=on|last|next|this) WEAKW", _WDAY),
        ("WEAKW (?=(to|dash|until) (WEAKW|WDAY))", _WDAY),
        ("(?<=(WEAKW|WDAY) (to|dash|until|and|or)) WEAKW", _WDAY),
        ("WEAKW (?=(comma|at|the)? (CLOCK|NUM|ORD|ANYMONTH|PART|DATE))", _WDAY),
        ("(?<=IN|since|until|early|mid|late|last|this|next) WEAKS", _SEASON),
        ("(?<=(IN|over) the) WEAKS", _SEASON),
        ("(?<=YEAR) WEAKS", _SEASON),
        ("WEAKS (?=of? ANYYEAR|of (last|this|next) UNIT)", _SEASON),
        # what comes again and again, or was named before, is no date
        (f"EVERY EVERY? (NUMBER|NTH)? ({_REPEATED}) PART? {_NOT_SAME}", dead),
        ("(a|NUMW) (WDAY|ANYMONTH) PART? (?!ago)", dead),
        ("WDAY PLPART", dead),
        ("the following (UNIT|WDAY|SEASON|ANYMONTH|PART|NUMBER)", dead),
    ),
)
