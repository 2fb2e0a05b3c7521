"""Faults that are registered under a name and triggered by chance: in code, in tests and by tools."""
