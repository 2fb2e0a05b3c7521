"""Stream faults, one a file: they act on the bytes of one direction of a connection."""
