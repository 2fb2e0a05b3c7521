"""The wire of MCP, both transports and both eras, so small that it can be fast and wrong on purpose."""
