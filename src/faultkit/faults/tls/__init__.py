"""TLS faults, one a file: they act on the handshake with a client, and on its end."""
