"""HTTP/1.1 for MCP, both sides: what a web framework would hide is what faults are made of."""
