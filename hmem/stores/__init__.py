"""Where memories rest: the embedded SQLite store."""
