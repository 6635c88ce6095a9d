"""Texts to unit vectors: local weights, an OpenAI-compatible endpoint, a query cache."""
