"""Codecs (stored, versioned for ever) and indexes (in memory, rebuilt at will)."""
