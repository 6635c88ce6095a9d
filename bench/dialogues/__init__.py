"""Talks written by hand for this project, with what is to be remembered of them. Their
people are invented. See `bench.dialogues.form` for how the files are read."""

from bench.dialogues.form import Add, Dialogue, Fact, Pair, Said, load, parse

__all__ = ["Add", "Dialogue", "Fact", "Pair", "Said", "load", "parse"]
