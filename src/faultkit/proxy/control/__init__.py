"""The control API of a running proxy: protocol, leases, server, client."""
