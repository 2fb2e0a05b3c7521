"""What an MCP client does when calls go wrong: every fault of calls against a program, seen from the wire."""
