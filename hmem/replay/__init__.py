"""Recordings of what models were asked and answered, and answering outside."""

from hmem.replay.cassette import Cassette
from hmem.replay.driver import Ran, answer_round, answered_by, quiet, run_rounds
from hmem.replay.embedder import ReplayEmbedder
from hmem.replay.llm import ReplayLLM
from hmem.replay.rounds import RoundsLLM, Taken

__all__ = [
    "Cassette",
    "Ran",
    "ReplayEmbedder",
    "ReplayLLM",
    "RoundsLLM",
    "Taken",
    "answer_round",
    "answered_by",
    "quiet",
    "run_rounds",
]
