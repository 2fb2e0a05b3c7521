"""Suites that declare faults, run agents against them, and gate on how they recover."""
