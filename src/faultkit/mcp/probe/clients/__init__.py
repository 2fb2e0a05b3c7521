"""Profiles an MCP client: one run for each call fault, judged by what the client did on the wire."""
