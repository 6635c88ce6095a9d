"""A view and a question -> the best rows, each with the parts its score adds up from.

Each kind's rows are scored by what they say themselves (`signals`), then by what other
rows lend them (`lifts`); what the question may not see (`masks`) neither ranks nor lends.
"""

from hmem.rank.ask import Ask, Found
from hmem.rank.listing import Moment, Step, as_they_came, chosen, in_time
from hmem.rank.masks import past_mask
from hmem.rank.ranking import Judged, rank, rank_and_judge

__all__ = [
    "Ask",
    "Found",
    "Judged",
    "Moment",
    "Step",
    "as_they_came",
    "chosen",
    "in_time",
    "past_mask",
    "rank",
    "rank_and_judge",
]
