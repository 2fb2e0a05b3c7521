"""Proof of a change: the service runs before and after it, under the same faults, and both are measured."""
