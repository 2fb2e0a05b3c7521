"""Faults that act on the calls of a protocol of requests and replies: MCP, wherever we stand in it."""
