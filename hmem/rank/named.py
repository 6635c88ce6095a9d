"""Which rows a name stands in."""

import re

import numpy as np
from numpy.typing import NDArray

from hmem.text import normalise, query_tokens
from hmem.views.facts import Facts
from hmem.views.table import best_passage
from hmem.views.turns import Turns


def naming(
    table: Turns | Facts, name: str, among: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(rows,) which of some rows name somebody or something: `name` is normalised.

    Those whose text holds it as a whole word or words, in any case and with any accents,
    and facts that are stored under it.
    """
    mask = np.zeros(len(table), np.bool_)
    if isinstance(table, Facts) and name in table.entities:
        mask[table.entities[name][0]] = True
        mask &= among
    pattern = _whole(name)
    for at in np.flatnonzero(_with_all_words(table, name) & among & ~mask).tolist():
        mask[at] = pattern.search(normalise(table.rows[at].text)) is not None
    return mask


def _with_all_words(table: Turns | Facts, name: str) -> NDArray[np.bool_]:
    """(rows,) which rows hold each of the name's words somewhere."""
    terms = query_tokens(name)
    if not len(terms) or not table.docs:
        return np.zeros(len(table), np.bool_)
    held = np.ones(len(table), np.bool_)
    for counts in table.lexicon.counts(terms)[:, :-1]:
        held &= best_passage(table, counts) > 0
    return held


def _whole(name: str) -> re.Pattern[str]:
    """The name between edges of words, where its script has any."""
    before = "" if _runs_on(name[0]) else r"(?<!\w)"
    after = "" if _runs_on(name[-1]) else r"(?!\w)"
    return re.compile(before + re.escape(name) + after)


def _runs_on(char: str) -> bool:
    """Whether a letter is of a script that writes words, or their endings, together."""
    return char.isalpha() and char.lower() == char.upper()
