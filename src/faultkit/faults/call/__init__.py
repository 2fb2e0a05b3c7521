"""Call faults, one a file: they act on the calls of an MCP client, in a mock or a gateway."""
