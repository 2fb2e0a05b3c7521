"""Benchmarks of what Faultkit does to traffic and of what it serves, side by side with its peers.

`python -m bench.proxy` measures what passing bytes through costs; `python -m bench.fidelity` measures
how close injected faults come to what was asked; `python -m bench.mcp` measures the mock and the gateway;
`python -m bench` runs them all and writes docs/benchmarks.md.
"""
