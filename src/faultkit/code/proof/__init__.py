"""Proof of a change: runs the service before and after it under the same faults, and measures both."""
