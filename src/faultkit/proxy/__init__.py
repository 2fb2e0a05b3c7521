"""The data plane: relay, listeners, TLS, HTTP and live control."""
