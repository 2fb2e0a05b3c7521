"""The proxy: a data plane that moves bytes between clients and upstreams, and lets faults act on them.

    plane            thread, event loop, proxies, the plan at work: what the control plane calls
    remote           the same in processes of their own; `data_plane` is the interface that both fulfil
    proxy            one port: accept, refuse, count
    link             one client connection and its upstream connection (`link_upstream`: how it is dialled)
    direction        one way of a link: copied, spliced in the kernel, or through filters
    direction_output the target's half of a direction: what waits to be written
    filter_chain     the filters of a direction, in order (pure)
    layers           HTTP and TLS between the two sockets of a link, on `http/` and `tls` (no I/O)
    http1_session    HTTP/1.1 on one link, with the rules of its plan; `http2_session` is that of HTTP/2, and
                     `websocket_session` stands behind that of HTTP/1.1 from the answer 101 on
    rule_binding     which rules act on a connection or a look-up
    request_rules    which rules act on an HTTP request and on its answer
    active_plan      the rules of the present plan and their memory (pure)
    proxy_state      what links share: the services of their plane, and the state of their proxy
    ledger           what upstreams did though clients did not get the answer (pure)
    plane_events     what a plane reports: opened, closed, injected …
    dial             resolving a name and connecting, without blocking the loop
    sockets, pipes   bare descriptors; kernel pipes that move or hold bytes
    event_loop       epoll or selectors, with precise timers
    control/         the HTTP control API: a core without HTTP, a server, a client
    toxiproxy/       a drop-in for Toxiproxy's HTTP API

Imports go down this list only: a direction knows no link, a link knows no port, a port knows no plane.
"""
