"""Retrieval quality on BEAM, without a language model.

    python -m bench.beam --data 100K --retrieval-only --system hmem --json

DIR holds a folder per chat. Every question but those of abstention is asked through a
context block at each budget. Recall is the share of a question's gold messages of which a
passage is in the block. Questions whose evidence lies all over a chat (the order of things,
a summary) are also averaged apart: they need more room than the others. Tokens are exact
cl100k. A block over its budget is an error: it is reported and the exit code is 1.
"""

import sys

from bench.beam_data import CATEGORIES, COVERAGE, load
from bench.running import DataSet, main

BEAM = DataSet(
    name="beam",
    about=__doc__,
    form="a folder of chats in BEAM's form",
    load=load,
    categories=CATEGORIES,
    budgets=(1000, 2000, 7000),
    apart=COVERAGE,
)

if __name__ == "__main__":
    sys.exit(main(BEAM))
