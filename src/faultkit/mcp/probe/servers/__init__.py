"""Probes of any MCP server at the edges of what clients send: the EDGE rules, each with its evidence."""
