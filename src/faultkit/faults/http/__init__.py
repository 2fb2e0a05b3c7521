"""HTTP faults, one a file: they act on single requests, where the proxy understands HTTP."""
