"""What a proxy is asked to be: plain data, from the command line, a file or an API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.base.address import Endpoint, ProxyMap, UpstreamSet

Speaks: TypeAlias = Literal["tcp", "http"]


@dataclass(frozen=True, slots=True)
class Worker:
    """Which of how many planes it is that share their ports and share out the connections."""

    index: int = 0
    count: int = 1

    def number(self, ordinal: int) -> int:
        """The number of a plane's own n-th connection or request: no two workers give the same."""
        return self.index + ordinal * self.count


ALONE = Worker()


@dataclass(frozen=True, slots=True)
class ProxySpec:
    name: str
    listen: Endpoint
    """Port 0 takes any free port."""
    upstream: Endpoint | None = None
    """None makes it an HTTP forward proxy: each request or CONNECT says where it goes."""
    tls: bool = False
    """Speak TLS to the upstream; the client's side stays in the clear."""
    speaks: Speaks = "tcp"
    """With `http`, faults may act on single requests."""
    rewrite_host: bool = False
    """Replace the Host header by the upstream's name."""
    broken: UpstreamSet | None = None
    """Of a forward proxy: the upstreams on which rules act. None: on all."""
    connect_timeout_s: float = 10.0
    verify: bool = True
    """Check the upstream's certificate."""

    @classmethod
    def of_map(cls, name: str, given: ProxyMap) -> ProxySpec:
        return cls(name, given.listen, given.upstream, given.tls, given.speaks, given.rewrite_host)
