"""WebSocket faults, one a file: they act on the messages of a connection, or on its pings and pongs."""
