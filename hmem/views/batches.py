"""A store's chunks, joined: what is done once per chunk is done once per few thousand rows."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from hmem.protocols import LexicalRows, VectorRows

_MOST = 4_096
"""Vectors in a batch: decoded they take 6 MB at 384 dimensions."""


def lexical_batches(chunks: Sequence[LexicalRows]) -> Iterator[LexicalRows]:
    """One batch of each kind; a kind's passages stay in order."""
    for kind in ("turn", "memory"):
        own = [rows for rows in chunks if rows.kind == kind]
        if len(own) < 2:
            yield from own
            continue
        yield LexicalRows(
            own[0].kind,
            np.concatenate([rows.keys for rows in own]),
            np.concatenate([rows.lengths for rows in own]),
            np.concatenate([rows.tokens for rows in own]),
        )


def vector_batches(chunks: Sequence[VectorRows]) -> Iterator[VectorRows]:
    """Chunks of one kind, space and codec that follow each other are joined: order counts,
    since a later row replaces an earlier one."""
    for _, run in groupby(chunks, key=lambda rows: rows[:3]):
        waiting: list[VectorRows] = []
        for rows in run:
            waiting.append(rows)
            if sum(len(w.keys) for w in waiting) >= _MOST:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)


def _joined(rows: Sequence[VectorRows]) -> VectorRows:
    if len(rows) == 1:
        return rows[0]
    return rows[0]._replace(
        keys=np.concatenate([r.keys for r in rows]),
        codes=np.concatenate([r.codes for r in rows]),
    )
