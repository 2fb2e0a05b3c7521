"""The portal of `fault serve`: overview, calls, tools and keys in a browser. It uses only the HTTP API."""
