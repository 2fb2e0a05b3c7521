"""Benchmarks of Faultkit's proxy, servers and load engine, compared with their peers.

`python -m bench.proxy` measures the cost of passing bytes through; `python -m bench.fidelity` measures
how close injected faults come to their settings; `python -m bench.mcp` measures the mock and the gateway;
`python -m bench.start` measures how soon commands are ready, and their memory;
`python -m bench` runs them all and writes docs/benchmarks.md.
"""
