"""Tools for coding agents, served over MCP by `fault agent tool` and `fault chaos serve`.

A tool is declared as plain values (`tool`, `code_tools`, `impact_tools`, `chaos_tools`), so that a server
starts fast; its function is imported when it is called first (`code_functions`, `impact_functions`,
`chaos_functions`). `tool_runner` runs calls in threads. Only `mcp_server`, `stdio_server` and `http_server`
know the MCP SDK. Nothing here knows the command line.
"""
