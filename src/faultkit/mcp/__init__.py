"""MCP on our own wire: faulty mock servers, and a gateway that breaks any server. It knows no SDK."""
