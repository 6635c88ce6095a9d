"""Codecs (stored, versioned for ever) and indexes (in memory, rebuilt at will)."""

from hmem.vectors.codecs import CODECS, codec
from hmem.vectors.registry import INDEXES, auto, index
from hmem.vectors.units import unit

__all__ = ["CODECS", "INDEXES", "auto", "codec", "index", "unit"]
