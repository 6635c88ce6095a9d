"""Progress of long work, on stderr: a bar on a terminal, lines where they are asked for."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

Advance = Callable[[int], None]
_SECONDS = 2.0
"""Between two lines."""


@contextmanager
def progress(total: int, label: str, *, shown: bool | None) -> Iterator[Advance]:
    """Tells how far it is. `shown`: None is yes on a terminal and no elsewhere."""
    terminal = sys.stderr.isatty()
    if not total or shown is False or (shown is None and not terminal):
        yield _ignore
    elif terminal:
        with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
            yield bar.update
    else:
        yield _Lines(total, label).advance


class _Lines:
    def __init__(self, total: int, label: str) -> None:
        self._total, self._label = total, label
        self._done, self._next = 0, time.monotonic()

    def advance(self, more: int) -> None:
        """Say so, now and then, and at the end."""
        self._done += more
        now = time.monotonic()
        if now >= self._next or self._done >= self._total:
            self._next = now + _SECONDS
            click.echo(f"{self._label}: {self._done} of {self._total}", err=True)


def _ignore(_: int) -> None:
    pass
