"""The HTTP side of `fault serve`: rows of its calls, health, metrics, an API over the audit log, a portal."""
