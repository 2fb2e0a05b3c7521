"""Tools that fail on request, to test gateways and clients against."""
