"""Rules for numbers in words, and for units made of other units."""

from hmem.timeparse.phrase import Now
from hmem.timeparse.rules import Made, Stage, time_of
from hmem.timeparse.tokens import Token
from hmem.timeparse.words import Amount, Unit, exactly


def _sum(_: Now, tokens: list[Token]) -> Made:
    return Token("NUMW", 0, 0, exactly(sum(t.value.size for t in tokens)))


def _spoken_year(_: Now, tokens: list[Token]) -> Made:
    """ "Nineteen fifty-seven", "twenty twelve"; "twenty three" is a number."""
    first, *rest = (int(t.value.size) for t in tokens)
    last = sum(rest)
    if len(tokens) == 2 and last < 10:
        return Token("NUMW", 0, 0, exactly(first + last))
    if not 16 <= first <= 20 or not 10 <= last <= 99:
        return None
    return Token("YEAR", 0, 0, 100 * first + last)


def _spoken_decade(_: Now, tokens: list[Token]) -> Made:
    """ "The nineteen eighties"."""
    first, ten = int(tokens[0].value.size), time_of(tokens[1])
    if first != 19:
        return None
    return Token("DECADE", 0, 0, tokens[1].value, ten.but(sure=0.95))


def _nth_sum(_: Now, tokens: list[Token]) -> Made:
    """ "Twenty-first"."""
    return Token("ORDW", 0, 0, int(tokens[0].value.size) + tokens[1].value)


def _part_of_hour(_: Now, tokens: list[Token]) -> Made:
    """ "Quarter of an hour", "half an hour": a unit of its own."""
    whole = tokens[-1].value
    part = tokens[0].value.name if len(tokens) == 2 else "half"
    if whole.name != "hour" or part not in ("quarter", "half"):
        return None
    return Token("UNIT", 0, 0, Unit(f"{part}-hour"))


def _dozens(_: Now, tokens: list[Token]) -> Made:
    """ "Half a dozen"."""
    amount = tokens[0].value
    return Token("NUMW", 0, 0, exactly(6)) if amount.size == 12 else None


def _and_half(_: Now, tokens: list[Token]) -> Made:
    return Token("NUMW", 0, 0, exactly(tokens[0].value.size + 0.5))


def _or(_: Now, tokens: list[Token]) -> Made:
    """ "Two or three", "2-3"."""
    numbers = [t.value.size for t in tokens] if len(tokens) == 2 else tokens[0].value
    low, high = sorted(numbers)
    return Token("NUMW", 0, 0, Amount(high, low, high))


def _fuzzy(_: Now, tokens: list[Token]) -> Made:
    return Token("NUMW", 0, 0, tokens[0].value)


NUMBERS = Stage(
    (
        ("(NUMW|TENS) dash? TENS (dash? NUMW)?|TENS NUMW (?!UNIT|FUZZY)", _spoken_year),
        ("NUMW dash? DECADE", _spoken_decade),
        ("TENS dash? ORDW", _nth_sum),
        ("TENS dash? NUMW", _sum),
        ("TENS", _sum),
        ("UNIT of a UNIT (?=ago|before|from|later|earlier)", _part_of_hour),
        ("half a FUZZY", _dozens),
    )
)
AMOUNTS = (
    ("a? FUZZY of?", _fuzzy),
    ("NUMBER (or|to|dash) NUMBER (?=UNIT)|PAIR (?=UNIT)", _or),
    ("NUMBER and a half (?=UNIT)", _and_half),
)
