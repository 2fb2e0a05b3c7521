"""Faults of LLM APIs, one a file: they act on requests to models and on their answers."""
