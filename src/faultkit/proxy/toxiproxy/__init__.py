"""A drop-in for a Toxiproxy server: its JSON API on Faultkit's data plane.

request_fields     the fields of a request body, and the refusals of the API (pure)
toxics             toxics, and the fault and rule that each becomes (pure)
registry           the proxies and toxics, applied to the plane
toxiproxy_server   routes, guard against browsers, Prometheus text, and running the server
"""
