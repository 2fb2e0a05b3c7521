"""Connection and name faults, one a file: they act when a client connects or a name is resolved."""
