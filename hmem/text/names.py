"""Which words of a text are names. Pure and cheap; imported through `hmem.text`."""

import re
from collections.abc import Iterator

from hmem.text.fold import normalise

_TOKEN = re.compile(r"@?\w[\w+#]*(?:['\u2019.&\-]\w+)*")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_ENDS_SENTENCE = re.compile(r"[.!?\u2026\n:;\"\u201c\u3002*\u2022]|^$")
_MOST_WORDS = 5  # a longer run of capitals is a headline, not a name

# Words that are capitalised for other reasons, mostly because they begin a sentence.
_STARTERS = (
    "a about after again all also although always am an and another any are as ask at "
    "because been before being but by can could did do does don't each even every finally "
    "first for from get go good great had happy has have he hello her here hey hi his how "
    "however i if in is it its just last later let let's like look lots make many may maybe "
    "me mr mrs ms dr most my never next nice no not now of oh ok okay on once one only or "
    "our please really see she should since so some sometimes sorry still such sure take "
    "thank thanks that the their them then there these they this those though to today "
    "tomorrow too try until very was we well were what when where which while who whose "
    "why will with would wow yeah yes yesterday yet you your"
)
_NEVER = frozenset(_STARTERS.split())


def proper_nouns(text: str) -> tuple[str, ...]:
    """The normalised names in `text`, once each, in order of appearance.

    Capitalised words, and a run of them as one name besides; @handles; words with inner
    capitals or digits ("iPhone", "B12"). A single word that begins a sentence counts only
    if it is a possessor or is capitalised elsewhere too. English first.
    """
    found: dict[str, None] = {}
    certain: set[str] = set()
    shouted = _shouted(text)
    for run, begins in _runs(text):
        names = [_name(word) for word in run]
        if 1 < len(run) <= _MOST_WORDS and not shouted:
            names.insert(0, " ".join(names))
        elif shouted or len(run) > _MOST_WORDS:
            names = [_name(word) for word in run if _marked(word)]
        found.update(dict.fromkeys(names))
        if not begins or len(run) > 1 or _marked(run[0]) or _POSSESSIVE.search(run[0]):
            certain.update(names)
    return tuple(name for name in found if name and name in certain)


def _shouted(text: str) -> bool:
    """Whether capitals say nothing, because all of a sentence is in capitals."""
    return text.isupper() and text.count(" ") >= _MOST_WORDS - 1


def _runs(text: str) -> Iterator[tuple[list[str], bool]]:
    """Runs of neighbouring name-like words, and whether each begins a sentence."""
    run: list[str] = []
    run_begins, end = True, 0
    for match in _TOKEN.finditer(text):
        gap = text[end : match.start()]
        begins = end == 0 or _ENDS_SENTENCE.search(gap) is not None
        like = _namelike(match[0])
        if run and (gap != " " or not like or _POSSESSIVE.search(run[-1])):
            yield run, run_begins
            run = []
        if like:
            run_begins = run_begins if run else begins
            run.append(match[0])
        end = match.end()
    if run:
        yield run, run_begins


def _namelike(word: str) -> bool:
    if _marked(word):
        return True
    head = word.partition("'")[0].partition("\u2019")[0].lower()
    return word[0].isupper() and head not in _NEVER and word.lower() not in _NEVER


def _marked(word: str) -> bool:
    """Whether a word is a name by its own look, wherever it stands."""
    if word[0] == "@":
        return len(word) > 1
    rest = _POSSESSIVE.sub("", word)[1:]
    if word[0].isdigit():  # "3pm" and "1st" are not names, "3M" and "7-Eleven" are
        return any(c.isupper() for c in rest)
    letters = any(c.islower() for c in word)
    inner = letters and any(c.isupper() for c in rest)
    return inner or any(c.isdigit() for c in rest)


def _name(word: str) -> str:
    return normalise(_POSSESSIVE.sub("", word).lstrip("@"))
