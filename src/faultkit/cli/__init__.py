"""The `fault` command: one module per command, and what they share. No other package imports it."""
