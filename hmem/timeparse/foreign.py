"""Single dates that the grammar does not know, and other languages, through `dateparser`.

It only ever sees spans that were found here, never a sentence. The phrases of a language
are those of dateparser's own tables: words like "gestern" and "la semaine dernière",
"vor 3 Tagen", and dates with the name of a month or a weekday. Everything is imported at
the first call; without the extra `time` nothing is found and nothing fails.
"""

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from hmem.timeparse import almanac as cal
from hmem.timeparse.atoms import month_first
from hmem.timeparse.phrase import Now, When
from hmem.timeparse.words import listed

_MONTHS = listed(
    """
    january february march april may june july august september october
    november december
    """
)
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NAMES = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
# English: what stands without blanks.
_ENGLISH = re.compile(
    rf"""(?<![\w./:-])(?:
      [0-3]?[0-9][./-]{_NAMES}[./-][0-9]{{2,4}}
    | [0-3]?[0-9]{_NAMES}[0-9]{{4}}
    )(?![\w/:-]|\.\w)""",
    re.VERBOSE | re.IGNORECASE,
)
# Words for both "tomorrow" and "morning", and what makes them a morning.
_BOTH = frozenset({"morgen", "mañana"})
_MORNING = re.compile(
    r"\b(?:la|cada|una|am|guten|heute|gestern|jeden|diesen|einem)\s+$", re.IGNORECASE
)
_FIGURE = re.compile(re.escape(r"(\d++[.,]?\d*+)"))


def foreign(
    text: str, now: Now, languages: Sequence[str], taken: Sequence[tuple[int, int]]
) -> Iterator[When]:
    """The times of a text that lie outside the spans that are taken, by language."""
    used = list(taken)
    for language in languages:
        pattern = _ENGLISH if language == "en" else phrases(language)
        if pattern is None:
            continue
        for found in pattern.finditer(text):
            start, end = found.span()
            if any(start < last and first < end for first, last in used):
                continue
            if _is_morning(found[0], text[max(0, start - 12) : start]):
                continue
            when = _parsed(found[0], start, now, language)
            if when is not None:
                used.append(when.span)
                yield when


def _is_morning(word: str, before: str) -> bool:
    return word.lower() in _BOTH and _MORNING.search(before) is not None


def _parsed(phrase: str, start: int, now: Now, language: str) -> When | None:
    """A span as dateparser reads it, as the day, week, month or year that it names."""
    try:
        module = importlib.import_module("dateparser.date")
    except ModuleNotFoundError:
        return None
    settings = {
        # The clock on the wall: dateparser is to move nothing between zones.
        "RELATIVE_BASE": now.at.astimezone(now.zone).replace(tzinfo=None),
        "PREFER_DATES_FROM": "past",
        "PREFER_DAY_OF_MONTH": "first",
        "RETURN_AS_TIMEZONE_AWARE": False,
        "STRICT_PARSING": language == "en",
    }
    if language == "en" and not month_first(now.zone):
        settings["DATE_ORDER"] = "DMY"
    parser = module.DateDataParser(languages=[language], settings=settings)
    read = parser.get_date_data(phrase)
    if read.date_obj is None or read.period not in _SPANS:
        return None
    stretch = _SPANS[read.period](read.date_obj.date())
    pair = cal.to_utc(stretch, now.zone)
    if pair is None:
        return None
    return When(
        start=pair[0],
        end=pair[1],
        precision=read.period,
        confidence=0.7,
        span=(start, start + len(phrase)),
        kind="foreign",
    )


_SPANS: Mapping[str, Any] = {
    "day": cal.days,
    "week": cal.week,
    "month": lambda day: cal.months(day.year, day.month),
    "year": lambda day: cal.years(day.year),
}


@cache
def phrases(language: str) -> re.Pattern[str] | None:
    """What in a language may be a time; None where dateparser does not know it or is
    not there."""
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z]{2,4})?", language):
        return None
    name = f"dateparser.data.date_translation_data.{language}"
    try:
        info: dict[str, Any] = importlib.import_module(name).info
    except ModuleNotFoundError:
        return None
    spaced = not info.get("no_word_spacing")
    parts = sorted(_relative(info, spaced=spaced), key=len, reverse=True)
    parts = [*_dates(info, spaced=spaced), *parts]
    whole = "|".join(parts)
    if spaced:
        whole = rf"(?<!\w)(?:{whole})(?!\w)"
    try:
        return re.compile(whole, re.IGNORECASE)
    except re.error:  # a table of a newer dateparser
        return None


def _relative(info: Mapping[str, Any], *, spaced: bool) -> Iterator[str]:
    """ "Gestern", "letzte Woche", "vor 3 Tagen"."""
    for word in _of_days(info.get("relative-type", {})):
        if len(word) >= (4 if spaced else 2):
            yield re.escape(word)
    number = _count(info)
    for pattern in _of_days(info.get("relative-type-regex", {})):
        plain = _FIGURE.sub("", pattern).split()
        if not spaced or (plain and len(plain[-1]) > 1):
            yield _FIGURE.sub(lambda _: number, pattern)


def _of_days(table: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What counts in days or more: a time of day is no help."""
    for key, words in table.items():
        if not any(unit in key for unit in ("second", "minute", "hour")):
            yield from words


def _count(info: Mapping[str, Any]) -> str:
    """A number, in figures or in the words that dateparser turns into figures."""
    words = [
        re.escape(word)
        for table in info.get("simplifications", ())
        for word, figure in table.items()
        if str(figure).isdigit() and word.replace("'", "").isalpha()
    ]
    return "(?:" + "|".join([r"\d{1,3}", *words]) + ")"


def _dates(info: Mapping[str, Any], *, spaced: bool) -> Iterator[str]:
    """Dates with a day or a year beside the name of a month, and whole weekdays."""
    if not spaced:
        yield r"\d{4}年\d{1,2}月(?:\d{1,2}日)?"
        return
    months = "|".join(re.escape(m) for key in _MONTHS for m in info.get(key, ()))
    if not months:
        return
    yield (
        rf"\d{{1,2}}(?:\.|er|º)?\s+(?:de\s+|di\s+)?(?:{months})\.?"
        r"(?:\s+(?:de\s+|del\s+)?\d{4})?"
    )
    yield rf"(?:{months})\s+(?:de\s+|del\s+)?\d{{4}}"
    for key in _DAYS:
        yield from (re.escape(day) for day in info.get(key, ()) if len(day) > 4)
