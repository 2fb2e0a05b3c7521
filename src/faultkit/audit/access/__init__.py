"""Access to `fault serve`: API keys, bearer tokens, scopes, rate limits, and the rows of refused requests."""
