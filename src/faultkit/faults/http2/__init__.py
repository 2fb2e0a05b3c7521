"""HTTP/2 and gRPC faults, one a file: they act on single requests of clients that speak HTTP/2."""
