"""Connections to MCP servers behind the gateway, a client or a suite."""
