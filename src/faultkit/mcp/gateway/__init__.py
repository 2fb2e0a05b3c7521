"""A gateway between any MCP client and any MCP server: nothing changes, unless a rule of the plan says so."""
