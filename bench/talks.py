"""What every data set of the bench is read into: conversations, facts and questions."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing said. `name` is None where only the role is known."""

    id: str
    text: str
    session: int
    at: datetime
    role: str = "user"
    name: str | None = None

    @property
    def speaker(self) -> str:
        """Who said it."""
        return self.name or self.role


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact that comes with the data set, and the turns it was made from."""

    text: str
    source_ids: tuple[str, ...]
    session: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`gold` are the turns that hold the answer; `answer` is None where none is given.

    `worded`: its answer can be expected in the words that the turns use. `dropped` are the
    pieces of its evidence that name no turn.
    """

    text: str
    answer: str | None
    category: str
    gold: tuple[str, ...]
    worded: bool = True
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns and facts in the order of their sessions, and the questions asked about them."""

    id: str
    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]

    @property
    def ended(self) -> datetime:
        """When the last session began."""
        return max(turn.at for turn in self.turns)

    def sessions(self) -> dict[int, list[Turn]]:
        """The turns by session, in order."""
        found: dict[int, list[Turn]] = {}
        for turn in self.turns:
            found.setdefault(turn.session, []).append(turn)
        return found


def chosen(found: list[Conversation], only: tuple[str, ...]) -> list[Conversation]:
    """Those named, or all. Raises ValueError for a name that nothing has."""
    unknown = set(only) - {c.id for c in found}
    if unknown:
        raise ValueError(f"no conversation {', '.join(sorted(unknown))} in the data")
    return [c for c in found if not only or c.id in only]
