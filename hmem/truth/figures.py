"""Numbers, dates and times among the tokens of a sentence, in words or in digits. Pure.

"twenty-five", "25" and "25.0" are one number, "5 March 2024", "March 5th, 2024" and
"2024-03-05" one date, "5 pm" and "17:00" one time.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

from hmem.truth import words as w
from hmem.truth.tokens import Token

FigureKind = Literal["number", "ordinal", "unit", "date", "time"]


class Date(NamedTuple):
    """A date as far as it is told. `weekday`: Monday is 0; `again`: "Mondays"."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    again: bool = False

    def __str__(self) -> str:
        if self.weekday is not None:
            return f"weekday {self.weekday}{'s' if self.again else ''}"
        parts = [self.year, self.month, self.day]
        while parts and parts[-1] is None:
            parts.pop()
        return "-".join("?" if part is None else str(part) for part in parts)


class Figure(NamedTuple):
    """`value` is the same for figures that say the same. `size` tokens are read."""

    kind: FigureKind
    value: str
    size: int
    date: Date | None = None


Reader = Callable[[Sequence[Token], int], Figure | None]


def figures(tokens: Sequence[Token]) -> Iterator[tuple[int, Figure]]:
    """Each figure and the token at which it begins. A currency's sign comes as the unit
    behind its number."""
    at, sign = 0, ""
    while at < len(tokens):
        figure = next((f for read in _READERS if (f := read(tokens, at))), None)
        if figure is None:
            word = tokens[at].word
            sign = (
                word if tokens[at].kind == "sign" and word in w.CURRENCY_SIGNS else ""
            )
            at += 1
            continue
        yield at, figure
        at += figure.size
        if figure.kind == "number":
            if word_at(tokens, at - 1) in w.TIMES:
                yield at, Figure("unit", "times", 0)
            elif sign:
                yield at, Figure("unit", w.UNITS[sign], 0)
            elif unit := _unit(tokens, at):
                yield at, unit
                at += unit.size
        sign = ""


def word_at(tokens: Sequence[Token], at: int) -> str:
    """The word there, "" beyond the ends."""
    return tokens[at].word if 0 <= at < len(tokens) else ""


# ------------------------------------------------------------------------- dates


def _date(tokens: Sequence[Token], at: int) -> Figure | None:
    token = tokens[at]
    if token.kind == "date":
        date = _written(token.word)
        value = token.word if date.month is None else str(date)
        return Figure("date", value, 1, date)
    if token.kind == "word":
        ordinal = _day_first(tokens, at) if token.word in w.ORDINALS else None
        return ordinal or _weekday(token) or _month_first(tokens, at)
    if token.kind == "number":
        return _day_first(tokens, at) or _year(tokens, at)
    return None


def _written(word: str) -> Date:
    """A date in digits; which of 5/3/2024 is the month cannot be known."""
    parts = [int(part) for part in word.replace("/", "-").replace(".", "-").split("-")]
    if "-" in word:
        return Date(parts[0], parts[1], parts[2] if len(parts) > 2 else None)
    one, other, year = parts
    year += 2000 if year < 100 else 0
    if "." in word or one > 12:
        return Date(year, other, one)
    if other > 12 or one == other:
        return Date(year, one, other)
    return Date(year)


def _weekday(token: Token) -> Figure | None:
    word = token.word
    if word in w.WEEKDAYS and (word not in w.WORDS_TOO or token.capital):
        date = Date(weekday=w.WEEKDAYS[word])
        return Figure("date", str(date), 1, date)
    if word.endswith("days") and word[:-1] in w.WEEKDAYS:
        date = Date(weekday=w.WEEKDAYS[word[:-1]], again=True)
        return Figure("date", str(date), 1, date)
    return None


def _month(tokens: Sequence[Token], at: int, *, beside_number: bool) -> int | None:
    if not 0 <= at < len(tokens) or tokens[at].kind != "word":
        return None
    token = tokens[at]
    if token.word in w.WORDS_TOO and not (token.capital or beside_number):
        return None
    return w.MONTHS.get(token.word)


def _month_first(tokens: Sequence[Token], at: int) -> Figure | None:
    """March, March 2024, March 5, March 5th, 2024."""
    after = at + 1 + (word_at(tokens, at + 1) == ".")
    numbered = after < len(tokens) and tokens[after].kind == "number"
    month = _month(tokens, at, beside_number=numbered)
    if month is None:
        return None
    if day := _day_number(tokens, after):
        after += day[1]
        year = _year_behind(tokens, after)
        date = Date(year[0], month, day[0])
        return Figure("date", str(date), after + year[1] - at, date)
    year = _year_behind(tokens, after)
    date = Date(year[0], month)
    size = after + year[1] - at if year[1] else 1
    return Figure("date", str(date), size, date)


def _day_first(tokens: Sequence[Token], at: int) -> Figure | None:
    """5 March, the 5th of March 2024."""
    day = _day_number(tokens, at)
    if day is None:
        return None
    after = at + day[1] + (word_at(tokens, at + day[1]) == "of")
    month = _month(tokens, after, beside_number=True)
    if month is None:
        return None
    after += 1 + (word_at(tokens, after + 1) == ".")
    year = _year_behind(tokens, after)
    date = Date(year[0], month, day[0])
    return Figure("date", str(date), after + year[1] - at, date)


def _day_number(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    """A day of the month, and how many tokens it takes."""
    word = word_at(tokens, at)
    if word in w.ORDINALS:
        return w.ORDINALS[word], 1
    if at >= len(tokens) or tokens[at].kind != "number":
        return None
    if not tokens[at].word.isdecimal() or not 1 <= int(tokens[at].word) <= 31:
        return None
    return int(tokens[at].word), 1 + _is_suffix(tokens, at + 1)


def _is_suffix(tokens: Sequence[Token], at: int) -> bool:
    return (
        at < len(tokens)
        and tokens[at].glued
        and tokens[at].word in ("st", "nd", "rd", "th")
    )


def _year_behind(tokens: Sequence[Token], at: int) -> tuple[int | None, int]:
    comma = word_at(tokens, at) == ","
    if _is_year(tokens, at + comma):
        return int(word_at(tokens, at + comma)), 1 + comma
    return None, 0


def _is_year(tokens: Sequence[Token], at: int) -> bool:
    if not 0 <= at < len(tokens) or tokens[at].kind != "number":
        return False
    word = tokens[at].word
    return word.isdecimal() and len(word) == 4 and 1900 <= int(word) <= 2100


def _year(tokens: Sequence[Token], at: int) -> Figure | None:
    if not _is_year(tokens, at) or word_at(tokens, at - 1) not in w.YEAR_LEADS:
        return None
    if _unit(tokens, at + 1) is not None:
        return None
    date = Date(int(tokens[at].word))
    return Figure("date", str(date), 1, date)


# ------------------------------------------------------------------------- times


def _time(tokens: Sequence[Token], at: int) -> Figure | None:
    token = tokens[at]
    if token.kind == "word" and token.word in ("noon", "midnight"):
        return Figure("time", "12:00" if token.word == "noon" else "0:00", 1)
    if token.kind not in ("time", "number"):
        return None
    half, size = _half(tokens, at + 1)
    parts = token.word.split(":")
    if (token.kind == "number" and not half) or not parts[0].isdecimal():
        return None
    hour = int(parts[0])
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + 12 * (half == "p") if half else hour
    rest = ":".join(parts[1:]).removesuffix(":00") if len(parts) > 2 else parts[-1]
    return Figure("time", f"{hour}:{rest if len(parts) > 1 else '00'}", 1 + size)


def _half(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """ "a" or "p" of "am", "p.m.", and its tokens."""
    word = word_at(tokens, at)
    if word in ("am", "pm"):
        return word[0], 1
    if word in ("a", "p") and [word_at(tokens, at + n) for n in (1, 2)] == [".", "m"]:
        return word, 3 + (word_at(tokens, at + 3) == ".")
    return "", 0


# ----------------------------------------------------------------------- numbers


def _number(tokens: Sequence[Token], at: int) -> Figure | None:
    token = tokens[at]
    if token.kind == "number":
        return _digits(tokens, at)
    if token.kind != "word":
        return None
    if token.word in w.TIMES:
        return Figure("number", str(w.TIMES[token.word]), 1)
    if token.word in w.ORDINALS and word_at(tokens, at - 1) not in (
        "a",
        "per",
        "every",
    ):
        return Figure("ordinal", str(w.ORDINALS[token.word]), 1)
    return _in_words(tokens, at)


def _digits(tokens: Sequence[Token], at: int) -> Figure | None:
    if _is_suffix(tokens, at + 1):
        return Figure("ordinal", tokens[at].word, 2)
    word = tokens[at].word
    thousands = len(word.partition(".")[0].rpartition(",")[2]) == 3
    plain = word.replace(",", "" if thousands else ".")
    try:
        value = Decimal(plain)
    except InvalidOperation:  # digits that are none to Python
        return None
    if word_at(tokens, at - 1) == "-" and not _joins(tokens, at - 1):
        value = -value
    size = 1
    if word_at(tokens, at + 1) == "k" and tokens[at + 1].glued:
        value, size = value * 1_000, 2
    while (scale := w.SCALES.get(word_at(tokens, at + size))) is not None:
        value, size = value * scale, size + 1
    if word_at(tokens, at + size) in w.DOZEN:
        value, size = value * 12, size + 1
    return Figure("number", _canonical(value), size)


def _joins(tokens: Sequence[Token], at: int) -> bool:
    """Whether the dash there joins two things, and is no minus."""
    return tokens[at].glued or not tokens[at + 1].glued


def _in_words(tokens: Sequence[Token], at: int) -> Figure | None:
    """ "twenty-five", "two hundred and fifty thousand", "a dozen"."""
    said: list[str] = []
    while at + len(said) < len(tokens):
        place = at + len(said)
        word, after = word_at(tokens, place), word_at(tokens, place + 1)
        last = said[-1] if said else ""
        if word in w.TENS or word in w.ONES:
            if not _may_follow(word, last):
                break
        elif word in w.SCALES or word in w.DOZEN:
            if not said:
                break
        elif not _goes_on(word, after, last):
            break
        said.append(word)
    if not said:
        return None
    return Figure("number", str(_sum(said)), len(said))


def _sum(said: Sequence[str]) -> int:
    total = part = 0
    for word in said:
        if word in w.SCALES or word in w.DOZEN:
            part = (part or 1) * w.SCALES.get(word, 12)
            if word in w.SCALES and word != "hundred":
                total, part = total + part, 0
        else:
            part += w.ONES.get(word, w.TENS.get(word, 0))
    return total + part


def _may_follow(word: str, last: str) -> bool:
    """Whether a number's word goes on with this one: "twenty five", not "two three"."""
    if last in w.TENS or last == "-":
        return 0 < w.ONES.get(word, 0) < 10
    return last in ("", "and") or last in w.SCALES


def _goes_on(word: str, after: str, last: str) -> bool:
    """Whether a little word stands inside a number: "a hundred", "twenty-five", "and"."""
    if not last:
        return word == "a" and (after in w.SCALES or after in w.DOZEN)
    if word == "-":
        return last in w.TENS and 0 < w.ONES.get(after, 0) < 10
    return word == "and" and last in w.SCALES and (after in w.ONES or after in w.TENS)


def _canonical(value: Decimal) -> str:
    """Without needless zeros: 25.0 and 25 are one."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _unit(tokens: Sequence[Token], at: int) -> Figure | None:
    """What a number counts, where it is a measure."""
    word = word_at(tokens, at)
    if word == "\u00b0":
        scale = {"c": "celsius", "f": "fahrenheit"}.get(word_at(tokens, at + 1))
        return Figure("unit", scale or "degree", 2 if scale else 1)
    if word == "per" and word_at(tokens, at + 1) == "cent":
        return Figure("unit", "%", 2)
    unit = w.UNITS.get(word)
    if unit is None:
        return None
    if unit == "degree" and word_at(tokens, at + 1) in ("celsius", "fahrenheit"):
        return Figure("unit", word_at(tokens, at + 1), 2)
    return Figure("unit", unit, 1)


_READERS: tuple[Reader, ...] = (_date, _time, _number)
