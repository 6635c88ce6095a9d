"""Text as the rest of hmem sees it: cleaned, normalised, in words, hashes and passages.

Pure functions. The same ones serve what is stored and what is asked, so that a word of a
text always finds it; no input raises.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import islice, zip_longest
from threading import Lock
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from snowballstemmer.english_stemmer import EnglishStemmer

from hmem.text.fold import clean, normalise
from hmem.text.names import proper_nouns
from hmem.text.passages import passages

__all__ = [
    "TOKENISER",
    "clean",
    "content_hash",
    "lexical",
    "normalise",
    "passages",
    "proper_nouns",
    "query_tokens",
    "turn_digest",
    "turn_key",
    "words",
]

TOKENISER = "en1"
"""Version of `words` and of its hashes; stored tokens of another one must be rebuilt."""

# Function words only, the common question words among them: what they match in a turn is
# another question, not its answer. Words that are also names, times or a negation stay:
# "may", "will", "us", "before", "not".
_FUNCTION_WORDS = (
    "a an the and or but if so as than then of to in on at by for with from into "
    "is are was were be been being am do does did doing has have had having "
    "i me my mine you your yours he him his she her hers it its we our ours "
    "they them their theirs this that these those there here "
    "would could should shall can about what how which who whom whose when where"
)
_STOPWORDS = frozenset(_FUNCTION_WORDS.split())

# Scripts written without spaces: each character and each pair becomes a word.
_DENSE = (
    "\u0e00-\u0e3a\u0e40-\u0e4e\u0e80-\u0ece\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109d\uaa60-\uaa7f\ua9e0-\ua9fe"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dd\u19e0-\u19ff"  # Khmer
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3005-\u3007\u3021-\u302f\u3031-\u3035\u303b\u303c"  # Han and kana
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3105-\u312f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_LATIN = "a-z\u00aa\u00ba\u00df-\u00f6\u00f8-\u02b8\u1d00-\u1dbf\u1e00-\u1eff\ua720-\ua7ff\uab30-\uab6f"
_GREEK = "\u0370-\u0373\u0376-\u037d\u037f\u0386\u0388-\u03ff\u1f00-\u1fff"
_CYRILLIC = "\u0400-\u0481\u048a-\u052f\u1c80-\u1c8f\ua640-\ua69f"
_ARABIC = "\u0620-\u064a\u066e-\u06d3\u06d5\u06ee-\u06ef\u06fa-\u06ff\u0750-\u077f\u0870-\u088f\u08a0-\u08c9"
_HEBREW = "\u05d0-\u05f4"
_INDIC = "\u0900-\u0963\u0971-\u0df3"
_SYMBOL = (
    "\u00a2-\u00a5\u00b0\u20a0-\u20cf\u2190-\u23ff\u2460-\u27bf\u2900-\u2bff"
    "\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_FLAG = "\U0001f1e6-\U0001f1ff"
_KNOWN = f"{_DENSE}{_LATIN}{_GREEK}{_CYRILLIC}{_ARABIC}{_HEBREW}{_INDIC}"
_LONGEST = 64  # a longer run is chopped, so that no word is unbounded
_PAGE = 1_024  # characters of a query that are read at once
_RUN = re.compile(
    r"[0-9]{1,32}(?:[.,:/\-][0-9]{1,32}){1,8}(?![0-9])"
    rf"|[a-z](?:\+\+|\#)(?![\w+\#])"
    rf"|[0-9{_LATIN}]{{1,{_LONGEST}}}(?:'[{_LATIN}]{{1,8}}(?![{_LATIN}]))?"
    rf"|[{_DENSE}]+"
    rf"|[{_GREEK}]{{1,{_LONGEST}}}|[{_CYRILLIC}]{{1,{_LONGEST}}}"
    rf"|[{_ARABIC}]{{1,{_LONGEST}}}|[{_HEBREW}]{{1,{_LONGEST}}}"
    rf"|[{_INDIC}]{{1,{_LONGEST}}}"
    rf"|[^\W0-9_{_KNOWN}]{{1,{_LONGEST}}}"
    rf"|[{_FLAG}]{{1,2}}|[{_SYMBOL}]"
)
_IS_DENSE = re.compile(rf"[{_DENSE}]").match
_IS_MARK = re.compile(
    "[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u102b-\u103e\u17b6-\u17d3\u302a-\u302f]"
).match
_PART = re.compile(r"[0-9]+|[^0-9]+")
_HAS_DIGIT = re.compile("[0-9]").search
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+").fullmatch
_CONTRACTED = frozenset(("s", "re", "ve", "ll", "d", "m", "t"))

_stemmer = EnglishStemmer()
_stemming = Lock()  # the stemmer keeps its word in itself


def words(text: str) -> list[str]:
    """The words `text` is indexed and searched by, in order, repeats kept.

    Normalised, stemmed where English, without function words unless there is nothing
    else. Characters and pairs of them where a script has no spaces; a compound like
    "3pm", "v1.2" or "C++" gives itself and its parts; an emoji is a word.
    """
    runs = _RUN.findall(normalise(text))
    found: list[str] = []
    for run in runs:
        found.extend(_words_of(run))
    if not found:
        found.extend(word for run in runs for word in _plain_words(run))
    return found


def lexical(text: str) -> NDArray[np.uint32]:
    """Stable 32-bit hashes of `words(text)`, in order, repeats kept."""
    runs = _RUN.findall(normalise(text))
    hashes: list[int] = []
    for run in runs:
        hashes.extend(_hashes_of(run) if len(run) <= _LONGEST else _hash_all(run))
    if not hashes:
        hashes.extend(_hash(word) for run in runs for word in _plain_words(run))
    return np.array(hashes, dtype=np.uint32)


def query_tokens(text: str, *, limit: int = 256) -> NDArray[np.uint32]:
    """The first `limit` distinct hashes of a query's words, in order; of a long one those of
    its two ends come first, where what is asked stands beside what was pasted.

    Reads no more of a huge query than that takes.
    """
    seen: dict[int, None] = {}
    met: dict[str, None] = {}
    long: dict[str, None] = {}
    for run in _query_runs(_shortened(text, 64 * limit)):
        if run in met:
            continue
        met[run] = None
        if len(run) <= _LONGEST:
            seen.update(dict.fromkeys(_hashes_of(run)))
        else:  # a page of a script without spaces, much of which was met
            fresh = dict.fromkeys(word for word in _words_of(run) if word not in long)
            long.update(fresh)
            seen.update(dict.fromkeys(map(_hash, fresh)))
        if len(seen) >= limit:
            break
    if not seen:
        seen.update(_hash_plain(met))
    return np.array(list(islice(seen, limit)), dtype=np.uint32)


def _query_runs(text: str) -> Iterator[str]:
    """The runs of a text, a page of it at a time: most queries are told by the first. Of a
    long one those of the first and of the last page in turns, the outermost first."""
    if len(text) <= _PAGE:
        yield from _RUN.findall(normalise(text))
        return
    last = _last_page(text)
    tail = _RUN.findall(normalise(text[last:]))[::-1]
    start = 0
    while start < last:
        page = text[start : min(last, start + _PAGE + 1)]
        size = passages(page, limit=_PAGE)[0]
        runs = _RUN.findall(normalise(page[:size]))
        if tail:
            pairs = zip_longest(runs, tail, fillvalue="")
            runs, tail = [run for pair in pairs for run in pair if run], []
        yield from runs
        start += size


def _last_page(text: str) -> int:
    """Where the last page of a text begins that is longer than one."""
    last = len(text) - min(_PAGE, len(text) // 2)
    return last + passages(text[last:], limit=_PAGE // 4)[0]


def _shortened(text: str, chars: int) -> str:
    """A text of at most `chars` characters: of a longer one both ends."""
    half = chars // 2
    return text if len(text) <= chars else f"{text[:half]}\n{text[1 - half :]}"


def _hash_plain(runs: Iterable[str]) -> dict[int, None]:
    return {_hash(word): None for run in runs for word in _plain_words(run)}


def content_hash(text: str) -> bytes:
    """8 bytes that are the same for texts that say the same in other code points."""
    return blake2b(normalise(text).encode(), digest_size=8).digest()


def turn_digest(
    role: str, name: str | None, text: str, said: datetime | None = None
) -> bytes:
    """8 bytes that name a turn: its role, speaker and cleaned text, and when it was said
    where the message itself tells: the same words at another time are another turn."""
    digest = blake2b(digest_size=8)
    when = [] if said is None else [said.astimezone(UTC).isoformat()]
    for part in (role, "" if name is None else f"={name}", text, *when):
        data = clean(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def turn_key(text: str, *, speaker: str, at: datetime) -> str:
    """The text by which a passage of a turn is found: "(8 May 2023) Caroline: text"."""
    return f"({at.day} {MONTHS[at.month - 1]} {at.year}) {speaker}: {text}"


# ------------------------------------------------------------------------ words


def _words_of(run: str) -> Iterator[str] | tuple[str, ...]:
    """A run's words without function words."""
    if _IS_DENSE(run):
        return _grams(run)
    return tuple(_stem(word) for word in _parts(run) if word not in _STOPWORDS)


def _plain_words(run: str) -> Iterator[str] | tuple[str, ...]:
    """A run's words, function words too: for a text that has no other."""
    return _words_of(run) or tuple(_parts(run))


def _grams(run: str) -> Iterator[str]:
    """Each character and each pair of a run that is written without spaces."""
    only = len(run) == 1
    for at, char in enumerate(run):
        if only or not _IS_MARK(char):
            yield char
        if at + 1 < len(run):
            yield run[at : at + 2]


def _parts(run: str) -> list[str]:
    """What a run is found by: itself, and its parts where it is a compound."""
    stem, _, tail = run.partition("'")
    if tail:
        return _apostrophe(stem, tail)
    if run.isdecimal():
        return [run.lstrip("0") or "0"]
    if not _HAS_DIGIT(run):
        return [run, run[0]] if run[-1] in "+#" else [run]
    if _THOUSANDS(run):
        return [run.replace(",", "")]
    pieces = [part.lstrip("0") or "0" for part in _PART.findall(run) if part.isalnum()]
    return [run, *pieces] if len(pieces) > 1 else pieces


def _apostrophe(stem: str, tail: str) -> list[str]:
    """The parts of "caroline's", "don't", "o'brien"."""
    if tail not in _CONTRACTED:
        return [*_parts(stem), tail]
    if tail == "t" and stem.endswith("n"):
        return [_NEGATED.get(stem, stem[:-1])]
    return _parts(stem)


_NEGATED = {"can": "can", "won": "will", "shan": "shall", "ain": "is"}


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    with _stemming:
        stem: str = _stemmer.stemWord(word)
    return stem


@lru_cache(maxsize=1 << 15)
def _hash(word: str) -> int:
    return crc32(word.encode())


@lru_cache(maxsize=1 << 15)
def _hashes_of(run: str) -> tuple[int, ...]:
    """The hashes of a short run; most runs come again."""
    return tuple(map(_hash, _words_of(run)))


def _hash_all(run: str) -> Iterator[int]:
    return (crc32(word.encode()) for word in _words_of(run))
