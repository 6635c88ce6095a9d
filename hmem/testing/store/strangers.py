"""Two strangers whose rows no other user may ever see, and a guard that looks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from hmem.protocols import Accept, Store, Tokens
from hmem.testing.store.making import code, item, quiet, short_hash, tokens, turn

STRANGERS = ("bo", "cy/../\u00fc'; --")
SHARED_TEXT = "Lives in Ghent"
_OF_ALL = ("jobs",)
"""What tells of every user's, as it must."""


class Guarded:
    """A store that looks through every answer for what is the strangers'."""

    def __init__(self, store: Store, secrets: "Secrets") -> None:
        self._store = store
        self._secrets = secrets

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def guarded(*args: Any, **kwargs: Any) -> Any:
            answer = await method(*args, **kwargs)
            if name not in _OF_ALL and not (args and args[0] in STRANGERS):
                self._secrets.check(answer)
            return answer

        return guarded


class Secrets:
    """What must never show: the strangers' ids, words, tokens and codes."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.tokens: list[int] = []
        self.codes: set[bytes] = set()

    def add(self, user_id: str, ids: Iterable[str]) -> None:
        """Learn a stranger's."""
        self.words |= {secret_word(user_id), *ids}
        self.tokens += tokens(secret_word(user_id)).tolist()
        self.codes.add(code(user_id))

    def check(self, answer: Any) -> None:
        """Fail if anything of a stranger's is in the answer."""
        for leaf in _leaves(answer):
            if isinstance(leaf, str):
                assert not any(w in leaf for w in self.words), "a stranger's text or id"
            elif isinstance(leaf, bytes):
                assert leaf not in self.codes, "a stranger's vector"
            else:
                assert not np.isin(leaf, self.tokens).any(), "a stranger's tokens"


def secret_word(user_id: str) -> str:
    """A word that only this stranger's rows hold."""
    return f"zq{short_hash('secret', user_id).hex()}"


def _leaves(answer: Any) -> Iterator[str | bytes | Tokens]:
    """Strings, byte rows and token arrays, wherever they are in the answer."""
    if isinstance(answer, (str, bytes)):
        yield answer
    elif isinstance(answer, np.ndarray) and answer.dtype == np.uint8:
        yield from (row.tobytes() for row in answer)
    elif isinstance(answer, np.ndarray):
        if answer.ndim == 1:
            yield answer
    else:
        for part in _parts(answer):
            yield from _leaves(part)


def _parts(answer: Any) -> Iterable[Any]:
    if isinstance(answer, Mapping):
        return [*answer.keys(), *answer.values()]
    if is_dataclass(answer):
        return [getattr(answer, f.name) for f in fields(answer)]
    return answer if isinstance(answer, (tuple, list, set, frozenset)) else ()


def strangers_accept(user_id: str) -> Accept:
    """A stranger's rows: the tests' own names and texts, and a word of their own."""
    word = secret_word(user_id)
    return quiet(
        turn("Hello", at=1, message_id="m1", metadata={"of": word}),
        turn(f"I like {word}", at=2, role="assistant", name="Ann"),
        item(f"Likes {word}", at=2, entities=["ghent", "maya"], session_id="s1"),
        item(SHARED_TEXT, at=1, entities=["ghent"], metadata={"of": word}),
        session="s1",
        key="k1",
        body_hash=b"strangers",
    )
