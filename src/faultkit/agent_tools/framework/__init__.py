"""What every tool is built on: its declaration, its arguments, its thread. Nothing here knows MCP."""
