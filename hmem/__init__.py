"""hmem: async-first memory for LLM agents. Durable, dated, per user, in SQLite files."""

__version__ = "0.1.0"
