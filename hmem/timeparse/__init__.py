"""Times in a text: "last summer", said or asked at a moment, is 1 June to 1 September.

A grammar of English in tables, and `dateparser` (the extra `time`) behind it for single
dates in other spellings and languages. Pure; no input raises but an `at` without a zone.

What it takes for granted, always against `at` on the clocks of `zone`:

- A week is Monday to Sunday (ISO). "Last week" and "last month" are the calendar ones;
  "the past week", "in the last month" and "the last 7 days" run back from today, today
  included. "Last Friday" is the latest before today, "next Friday" the first after it.
- "Two weeks ago" is the calendar week it comes to, "six months ago" the month, "a year
  ago" the month, "three years ago" the year; "three days ago", "exactly a year ago" that
  day. "A few" is 2..5. Readers differ, so that weeks and more are below `HIGH`.
- What comes again ("in March", "on Tuesday", "at Christmas", "on the 5th") is the latest
  that has begun, a weekday the latest before today. In a sentence that speaks of what is
  to come ("will", "going to", "am flying", "is due") it is the next. A sentence with
  signs of both counts as past, and the confidence says so.
- "Early", "mid" and "late" are thirds (ten days of a month, four months of a year). The
  first week of a month is its days 1..7. Seasons are whole months: spring from March,
  turned around in zones of the south; winter counts to the year in which it begins.
- Morning 5-12, afternoon 12-18, evening 18-24, night 18-6; the small hours end at six.
  "At 3 pm" is that hour, "at 3:15 pm" that minute. What may be either half of the day
  ("half past six") is told by the part of the day that is said, else it is the whole day.
  A time of day without its day is the latest or the next, and only in a sentence with a
  tense that tells of no habit.
- "Since" ends with today, "before" begins at `BEGINNING`, "after" ends at `LAST`; "until"
  and "by" include their day. "Just before" is a week, "the weeks before" four.
- Words of which readers make different stretches ("recently", "the other day", "at the
  end of the year", "this time last year", "FY2023") are below `HIGH`, the vaguest far
  below: see `hmem.timeparse.vague`.
- Feasts are those of the western calendar, the United States and Britain; those of other
  calendars are left unread, and so are greetings. "Fall holidays" are some of that season.
- How long something took, what happens every week, bare numbers, names and titles ("the
  film Friday", "12 March Street"), and what hangs on another event ("the next day", "the
  week before the wedding") are no times. A date that does not exist is left unread, not
  read in part; beside words of time that were left unread the rest is doubted.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hmem.errors import BadTimeError
from hmem.timeparse.almanac import BEGINNING, LAST
from hmem.timeparse.finder import readings
from hmem.timeparse.foreign import foreign, phrases
from hmem.timeparse.phrase import HIGH, Kind, Now, When

__all__ = [
    "BEGINNING",
    "HIGH",
    "LAST",
    "MAX_CHARS",
    "Kind",
    "When",
    "find",
    "mentions",
    "prepare",
]
MAX_CHARS = 200_000
"""Of a longer text only so much is read."""


def find(
    text: str, *, at: datetime, zone: ZoneInfo, languages: Sequence[str] = ("en",)
) -> tuple[When, ...]:
    """The times that a text speaks of, in the order of the text, each once.

    `at` is when it was said or asked. `languages` are two-letter codes; what is not
    English needs the extra `time`, and is left unread without it. The first use of
    another language loads for up to a second: see `prepare`. Raises BadTimeError for an
    `at` without a zone.
    """
    return tuple(_all(text, at, zone, languages, every=False))


def mentions(
    text: str, *, at: datetime, zone: ZoneInfo, languages: Sequence[str] = ("en",)
) -> list[When]:
    """Every time that a statement may speak of: what `find` finds, and for what comes
    again ("on Friday") the other reading as well, at half the confidence.

    A date follows from a statement when it lies in one of these.
    """
    return _all(text, at, zone, languages, every=True)


def prepare(languages: Sequence[str] = ("en",)) -> tuple[str, ...]:
    """Make ready what the languages need, which takes up to a second the first time.

    Returns those that can be read; English always can.
    """
    noon = datetime(2024, 5, 8, 12, tzinfo=UTC)
    find("on 8 May, the first week of last month", at=noon, zone=ZoneInfo("UTC"))
    return tuple(
        language
        for language in languages
        if language == "en" or phrases(language) is not None
    )


def _all(
    text: str, at: datetime, zone: ZoneInfo, languages: Sequence[str], *, every: bool
) -> list[When]:
    if at.utcoffset() is None:
        raise BadTimeError("at must carry a zone")
    try:
        now = Now(at, zone)
    except OverflowError:  # at the very ends of the calendar
        return []
    text = text[:MAX_CHARS]
    found = list(readings(text, now, every=every)) if "en" in languages else []
    more = foreign(text, now, languages, [when.span for when in found])
    return sorted([*found, *more], key=lambda when: when.span)
