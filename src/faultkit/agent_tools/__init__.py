"""What Faultkit serves to other programs: the MCP server of `fault agent tool`.

Only this package knows the MCP SDK. It declares tools as plain values, calls one function of the core for
each, and renders; it never knows the command line.
"""
