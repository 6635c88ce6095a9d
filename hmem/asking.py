"""Arguments of reads -> a validated Ask. Pure. Raises before anything is looked at."""

import math
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args
from zoneinfo import ZoneInfo

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from hmem.config import Config
from hmem.errors import BadVectorError, InputError, InputTypeError
from hmem.inputs.counts import read_count as read_count
from hmem.inputs.items import read_category
from hmem.inputs.scope import scope_of
from hmem.protocols import Clock, Micros
from hmem.rank import Ask
from hmem.records import Kind
from hmem.text import clean, normalise, query_tokens
from hmem.text.timewords import may_speak_of_time
from hmem.times import from_micros, interval, moment, to_micros

if TYPE_CHECKING:
    from hmem.filters.rows import RowFilter

MAX_QUERY_CHARS = 8_000
"""Of a longer query both ends are kept: what is asked stands before or after a paste."""
MAX_ENTITY_CHARS = 256
KINDS: tuple[Kind, ...] = get_args(Kind)
_TIME_CHARS = 600  # read for times, half at either end: more would take milliseconds
_ENGLISH = ("en",)
_LOADED: set[str] = set()


def read_ask(
    query: object,
    *,
    user_id: object,
    agent_id: object,
    session_id: object,
    k: int,
    config: Config,
    clock: Clock,
    **given: Any,
) -> Ask:
    """An Ask from what a caller gave. `given` holds the other read options by name."""
    scope = scope_of(user_id=user_id, agent_id=agent_id, session_id=session_id)
    text = read_query(query)
    zone, category = config.zone, given["category"]
    given_at, as_of = late(given, "asked_at", zone), late(given, "as_of", zone)
    asked_at = to_micros(clock()) if given_at is None else given_at
    spoken_at = as_of if as_of is not None and given_at is None else asked_at
    return Ask(
        query=text,
        terms=query_tokens(text),
        k=k,
        asked_at=asked_at,
        vector=read_vector(given["vector"]),
        as_of=as_of,
        known_at=late(given, "known_at", zone),
        during=read_during(given["during"], zone),
        when=read_when(text, spoken_at, zone, config.languages),
        agent_id=scope.agent_id,
        session_id=scope.session_id,
        category=None if category is None else read_category(category, "category"),
        kinds=read_kinds(given["kinds"]),
        keep=read_filters(given["filters"], zone),
        min_score=read_min_score(given["min_score"]),
        explain=read_flag(given.get("explain", False), "explain"),
    )


def read_listing(
    *,
    user_id: object,
    agent_id: object,
    session_id: object,
    config: Config,
    clock: Clock,
    closed: bool = False,
    **given: Any,
) -> Ask:
    """An Ask that chooses rows and ranks none. `given` holds the options by name."""
    scope = scope_of(user_id=user_id, agent_id=agent_id, session_id=session_id)
    zone, category = config.zone, given["category"]
    return Ask(
        query="",
        terms=np.empty(0, np.uint32),
        k=0,
        asked_at=to_micros(clock()),
        as_of=late(given, "as_of", zone),
        known_at=late(given, "known_at", zone),
        during=read_during(given["during"], zone),
        agent_id=scope.agent_id,
        session_id=scope.session_id,
        category=None if category is None else read_category(category, "category"),
        kinds=read_kinds(given["kinds"]),
        keep=read_filters(given["filters"], zone),
        closed=closed,
    )


def late(given: dict[str, Any], name: str, zone: ZoneInfo) -> Micros | None:
    """A time argument of which a date means its end."""
    if given[name] is None:
        return None
    return to_micros(moment(given[name], zone, end_of_day=True, name=name))


def read_during(value: object, zone: ZoneInfo) -> tuple[Micros, Micros] | None:
    """A stretch of time, half-open."""
    if value is None:
        return None
    start, end = interval(value, zone)
    return to_micros(start), to_micros(end)


def read_filters(value: object, zone: ZoneInfo) -> "RowFilter | None":
    """Which rows to keep by their labels and metadata: see `hmem.filters`. Loaded at the
    first use, which takes some 10 ms."""
    if value is None:
        return None
    rows = import_module("hmem.filters.rows")
    keep: RowFilter | None = rows.read_row_filter(value, zone=zone)
    return keep


def read_when(
    query: str,
    asked_at: Micros,
    zone: ZoneInfo,
    languages: Sequence[str] = _ENGLISH,
) -> tuple[tuple[Micros, Micros, float], ...]:
    """The times that a query speaks of, against when it was asked."""
    if not speaks_of_time(query, languages):
        return ()
    find = import_module("hmem.timeparse").find
    at = from_micros(asked_at)
    text = _ends(query, _TIME_CHARS)
    found = find(text, at=at, zone=zone, languages=languages)
    return tuple((to_micros(w.start), to_micros(w.end), w.confidence) for w in found)


def speaks_of_time(query: object, languages: Sequence[str] = _ENGLISH) -> bool:
    """Whether it is worth while to read a query for times. In English most are not."""
    if not isinstance(query, str):
        return False
    return tuple(languages) != _ENGLISH or may_speak_of_time(
        _ends(query.strip(), _TIME_CHARS)
    )


def times_loaded(languages: Sequence[str] = _ENGLISH) -> bool:
    """Whether what reads times is there, for all of these languages."""
    return _LOADED.issuperset(languages)


async def load_times(languages: Sequence[str] = _ENGLISH) -> tuple[str, ...]:
    """Load what reads times, off the loop: 50 ms the first time, and up to a second for
    another language. Returns those languages that cannot be read. Those who come together
    had better wait for one of them."""
    if not times_loaded(languages):
        _LOADED.update(await anyio.to_thread.run_sync(partial(_load, languages)))
    return tuple(name for name in languages if name not in _LOADED)


def _load(languages: Sequence[str]) -> tuple[str, ...]:
    able: tuple[str, ...] = import_module("hmem.timeparse").prepare(languages)
    return able


def read_entity(value: object) -> str | None:
    """A name, normalised as names are stored: case, accents and a leading @ do not
    count."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputTypeError(f"entity must be a str, not {type(value).__name__}")
    name = normalise(clean(value[: 2 * MAX_ENTITY_CHARS])).lstrip("@").strip()
    if not name or len(name) > MAX_ENTITY_CHARS:
        raise InputError(f"entity must be a name of 1 to {MAX_ENTITY_CHARS} characters")
    return name


def read_flag(value: object, name: str) -> bool:
    """True or False; anything else is an InputTypeError."""
    if not isinstance(value, bool):
        raise InputTypeError(f"{name} must be True or False")
    return value


def read_query(value: object) -> str:
    """A query's text. An empty or blank one is an InputError; one without a word (only
    punctuation) is fine and finds what its vector finds."""
    if not isinstance(value, str):
        raise InputTypeError(f"the query must be a str, not {type(value).__name__}")
    text = clean(_ends(value.strip(), MAX_QUERY_CHARS))
    if not text.strip():
        raise InputError("the query must not be empty or blank")
    return text


def _ends(text: str, chars: int) -> str:
    """At most so many characters of a text: of a longer one both ends, apart."""
    half = chars // 2
    return text if len(text) <= chars else f"{text[: half - 3]} \u2026 {text[-half:]}"


def read_vector(value: object) -> NDArray[np.float32] | None:
    """A query's vector, finite and not zero; its dimension is checked at the search."""
    if value is None:
        return None
    try:
        given = np.asarray(value)
        if given.dtype.kind in "cSU":
            raise TypeError("neither texts nor complex numbers")
        vector = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as e:
        raise BadVectorError("vector= must be a sequence of numbers") from e
    if vector.ndim != 1 or not vector.size:
        raise BadVectorError("vector= must have one dimension")
    largest = float(np.abs(vector).max())
    if not math.isfinite(largest) or largest == 0.0:
        raise BadVectorError("vector= must be finite and not all zero")
    return (vector / largest).astype(np.float32)


def read_kinds(value: object) -> frozenset[Kind]:
    """Which kinds of rows to find: None is all of them; one name or several."""
    if value is None:
        return frozenset(KINDS)
    try:
        names = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
    except TypeError as e:
        kind = type(value).__name__
        raise InputTypeError(f"kinds must be names, not {kind}") from e
    known = [name for name in names if isinstance(name, str) and name in KINDS]
    wanted = frozenset(kind for kind in KINDS if kind in known)
    if not wanted or len(known) != len(names):
        raise InputError(f"kinds must be among {', '.join(KINDS)}")
    return wanted


def read_min_score(value: object) -> float | None:
    """A least score in 0..1, on the scale of `Hit.score`."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputTypeError(f"min_score must be a number, not {type(value).__name__}")
    if not 0 <= value <= 1:
        raise InputError("min_score must lie in 0..1")
    return float(value)
