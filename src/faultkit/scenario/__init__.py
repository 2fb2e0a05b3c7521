"""Scenarios: files that say what to call, what to break and what to expect; and running them."""
