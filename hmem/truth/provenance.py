"""Whether a fact is borne out by the turns that it names. Pure.

    quote    occurs in one of the sources, word for word
    number   every number of the fact stands in a source, in digits or words, and measures
             the same there
    date     every date and time of the fact stands in a source, or follows from what a
             source says and when it was said ("yesterday", a day without its year)
    name     every proper name of the fact stands in a source, or is a talker's
    words    without a quote that was found: some word of the fact stands in a source

Whatever fails is a reason; a fact with a reason is not verified.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from hmem.text import normalise, proper_nouns
from hmem.truth import words as w
from hmem.truth.evidence import LITTLE, Evidence, When
from hmem.truth.figures import figures
from hmem.truth.quotes import find_quote
from hmem.truth.spoken import spoken
from hmem.truth.tokens import Token, tokens

Why = Literal["quote", "number", "date", "name", "words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """`quote` is verbatim from source number `source`, None where it was not found.
    `entities` are those borne out. `verified` is False when there is a reason in `why`."""

    quote: str | None
    source: int | None
    verified: bool
    why: tuple[Why, ...]
    entities: tuple[str, ...]


def check(
    text: str,
    quote: str | None,
    entities: Sequence[str],
    sources: Sequence[str],
    *,
    at: Sequence[datetime],
    zone: ZoneInfo,
    names: Collection[str] = (),
    when: When = spoken,
) -> Checked:
    """Check a fact against the turns that it names.

    `at`: when each source was said. `names`: what may be named besides, such as the
    talkers, and who earlier turns spoke of. A quote that was not given is no reason.
    """
    evidence = Evidence(sources, at, zone, names, when)
    found = find_quote(quote, sources) if quote else None
    said = tokens(text)
    why: list[Why] = []
    if quote and found is None:
        why.append("quote")
    if not evidence.has_numbers(said):
        why.append("number")
    if not all(map(evidence.has_time, (f for _, f in figures(said)))):
        why.append("date")
    if not all(map(evidence.has_name, _names(text, said, entities))):
        why.append("name")
    if found is None and not evidence.has_some_word(text):
        why.append("words")
    return Checked(
        quote=sources[found.text][found.start : found.end] if found else None,
        source=found.text if found else None,
        verified=not why,
        why=tuple(why),
        entities=tuple(e for e in entities if evidence.has_name(normalise(e))),
    )


# ---------------------------------------------------------------- names of the fact

_VERB_ENDINGS = ("s", "ed")
_NO_NAME_ENDINGS = ("ing", "ed", "s", "ly")


def _names(text: str, said: Sequence[Token], entities: Sequence[str]) -> Iterator[str]:
    """The proper names in a fact's text, normalised."""
    yield from proper_nouns(text)
    line = f" {normalise(text)} "
    for entity in map(normalise, entities):
        within = not entity.isascii() and entity in line
        if within or f" {entity} " in line or f" {entity}'" in line:
            yield entity
    if len(said) > 1 and _is_subject(text[said[0].start], said[0].word, said[1].word):
        yield said[0].word


def _is_subject(first: str, word: str, after: str) -> bool:
    """Whether the capital of a first word is a name's: "Anna lives", not "Likes tea"."""
    if not first.isupper() or word in LITTLE or word.endswith(_NO_NAME_ENDINGS):
        return False
    verb = after in w.BE | w.HAVE | w.MODALS or after.endswith(_VERB_ENDINGS)
    return verb and word.isalpha()
