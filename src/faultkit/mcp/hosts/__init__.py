"""Configuration files of MCP hosts: list, install, wrap."""
