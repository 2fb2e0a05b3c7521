"""Tools that fail on request, exactly as asked: something for gateways and clients to be tested against."""
