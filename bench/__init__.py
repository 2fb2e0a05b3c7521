"""Benchmarks of the network fault proxy, side by side with its peers.

`python -m bench.proxy` measures what passing bytes through costs; `python -m bench.fidelity` measures
how close injected faults come to what was asked; `python -m bench` runs both and writes docs/benchmarks.md.
"""
