"""One user's memories in memory: columns, postings and vectors, extended as they change."""

from hmem.views.cache import ViewCache
from hmem.views.records import episode_record, memory_record
from hmem.views.view import View

__all__ = ["View", "ViewCache", "episode_record", "memory_record"]
