"""A drop-in for a Toxiproxy server: its JSON API on our data plane.

toxics, proxies   what the API takes and gives, as values; toxics become faults. Pure.
registry          the proxies and toxics there are, applied to the plane
metrics, api      the face: Prometheus text, routes
guard, server     who may call, and how the face is run
"""
