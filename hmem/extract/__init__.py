"""A stretch of talk and a model's reply about it: what is asked, and what is read. Pure.

cut       turns -> stretches that fit one call
messages  a stretch, and what is known around it -> the chat that asks for its facts
read      the JSON value of the reply -> candidates, and what of it was not taken
halves    a stretch whose reply was cut off -> two to ask about instead
"""

from hmem.extract.cutting import cut, halves
from hmem.extract.reply import Candidate, Extracted, read
from hmem.extract.talk import (
    Shown,
    Talk,
    messages,
    most_facts,
    schema,
    turn_text,
    version,
)

__all__ = [
    "Candidate",
    "Extracted",
    "Shown",
    "Talk",
    "cut",
    "halves",
    "messages",
    "most_facts",
    "read",
    "schema",
    "turn_text",
    "version",
]
