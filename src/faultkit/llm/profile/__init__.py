"""Profiles an LLM client: one run for each fault, judged by what the server saw and what the client did."""
