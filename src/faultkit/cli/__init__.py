"""The `fault` command: one file a command, and what they share. Nothing outside imports it."""
