"""The control API of a running proxy: core, leases, server, client."""
