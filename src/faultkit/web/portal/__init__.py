"""The page of `fault serve`: overview, calls, tools and keys in a browser. It talks to the HTTP API alone."""
