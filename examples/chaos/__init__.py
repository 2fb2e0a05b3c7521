"""A web shop with a database behind the proxy, and experiments that cut the database off."""
