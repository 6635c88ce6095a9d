"""What a reply is that cannot be used."""

EMPTY = "empty"


class Unreadable(Exception):  # noqa: N818 - a state of the reply, caught by its readers
    """A reply that is not what was asked for. Its text is a short reason in our own
    words, fit to be sent back to the model; it never quotes the reply."""


class CutOff(Unreadable):
    """A reply that ends before its brackets do."""
