"""From a model's reply to the JSON value in it."""


class Unreadable(Exception):  # noqa: N818 - a state of the reply, caught by its readers
    """A reply that is not what was asked for. Its text is a short reason in our own
    words, fit to be sent back to the model; it never quotes the reply."""
