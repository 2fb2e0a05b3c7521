"""HTTP/1.1 server and client on asyncio, without any knowledge of MCP.

Own code instead of uvicorn and httpx, because responses must be cut, dripped and reset on purpose, which
those hide. Parsing is done by httptools.
"""
