"""Probes of the other side: `servers` sends odd messages to an MCP server, `clients` injects faults into a
client's calls."""
