"""Probes of MCP servers (`fault edge`) and of MCP clients (`fault profile`)."""
