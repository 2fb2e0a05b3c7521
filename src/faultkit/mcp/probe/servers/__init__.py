"""Probes an MCP server at the edges of what clients send: the EDGE rules, each verdict with its evidence."""
