"""What happened, told to whoever listens; never a user's text.

accepted          job_id, user_id
job_done, job_partial, job_dead    job_id, user_id
job_retried       job_id, user_id: queued again by an operator
job_released      jobs, delay: given back, to be tried again or by others
jobs_deferred     jobs, delay: they wait for more turns, or for the chat model
outage_started    reason           the embedder is down, or with part="llm" the chat model;
                                   once per outage
outage_ended      seconds          likewise
store_failed      error            the store fails; once until it works again
store_recovered
worker_error      error            a failure that nothing foresaw
other_embedding_space              this process works on no jobs
search_degraded   reasons
listing_degraded  reasons
row_erased        user_id, rows: one memory or turn, and what hung on it
user_erased       rows
"""

import logging
from collections.abc import Mapping
from typing import Any

from hmem.config import EventSink

log = logging.getLogger("hmem.events")


class Events:
    """Calls `Config.on_event(name, data)`. A sink that raises is logged once and never
    breaks a call; it runs on the event loop, so it must be quick."""

    def __init__(self, sink: EventSink | None) -> None:
        self._sink = sink
        self._complained = False

    def __call__(self, name: str, **data: Any) -> None:
        """Tell one event."""
        if self._sink is None:
            return
        try:
            self._call(name, data)
        except Exception as e:  # noqa: BLE001  # the caller's code, not ours
            if not self._complained:
                self._complained = True
                log.warning("Config.on_event raised %s; told once", type(e).__name__)

    def _call(self, name: str, data: Mapping[str, Any]) -> None:
        assert self._sink is not None
        self._sink(name, data)
