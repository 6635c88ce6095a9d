"""Retrieval quality on LoCoMo, without a language model.

    python -m bench.locomo --data locomo.json --retrieval-only --system hmem --json

Every question of categories 1 to 4 is asked through a context block at each budget. Recall
is the share of a question's gold turns whose own text, or a fact citing them, is in the
block; containment is whether all words of the gold answer (but articles) are. Tokens are
exact cl100k. A block over its budget is an error: it is reported and the exit code is 1.
"""

import sys

from bench.locomo_data import CATEGORIES, load
from bench.running import DataSet, main

LOCOMO = DataSet(
    name="locomo",
    about=__doc__,
    form="a file in LoCoMo's form",
    load=load,
    categories=CATEGORIES,
    budgets=(500, 1000, 2000, 4000),
    facts=("none", "observations"),
)

if __name__ == "__main__":
    sys.exit(main(LOCOMO))
