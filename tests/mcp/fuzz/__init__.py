"""Mutated messages against mock and gateway: nothing crashes or leaks, and legal calls are answered."""
