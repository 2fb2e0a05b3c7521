"""The fields of a link.

`PureLinkFields` is the Python version; `_native_link.c` has the other, with the same fields. A connection on
which no rule acts then begins and ends in C. `LinkFields` is the one of the two that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from faultkit.base.address import Endpoint
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.dial import DialAttempt
from faultkit.proxy.direction import Direction
from faultkit.proxy.native import native
from faultkit.proxy.proxy_state import ProxyState
from faultkit.proxy.rule_delay import DelayedStep
from faultkit.proxy.sockets import NO_SOCKET

if TYPE_CHECKING:
    from faultkit.proxy.layers import ProtocolLayer


class PureLinkFields:
    """What a link knows."""

    __slots__ = (
        "_client_watched",
        "_delayed",
        "_dial",
        "_dial_number",
        "_dial_target",
        "_services",
        "_stalled",
        "client",
        "client_exempt",
        "dead",
        "down",
        "exempt",
        "hits",
        "layer",
        "opened_at",
        "ordinal",
        "proxy",
        "up",
        "upstream",
    )

    def __init__(self, proxy: ProxyState, client: int, ordinal: int) -> None:
        self.proxy = proxy
        self._services = services = proxy.services
        self.ordinal = ordinal
        self.client = client
        self.upstream = NO_SOCKET
        link: Any = self  # Every link is a `Link`, which has what a direction needs.
        self.up = Direction(link, services, client, NO_SOCKET)
        self.down = Direction(link, services, NO_SOCKET, client)
        self.dead = False
        self.exempt = False
        """No rule of the server's side acts: its upstream is not among those that the user wants broken."""
        self.client_exempt = proxy.spares_hosts
        """No rule of the client's side acts: it has named no host that the user wants broken."""
        self.layer: ProtocolLayer | None = None
        self.opened_at = services.loop.clock()
        self.hits: dict[ActiveStreamRule, bool] | None = None
        """Whether each rule that does not always act was drawn for this connection."""
        self._delayed: DelayedStep | None = None
        """What rules have put off, if anything: the beginning, or the look-up of a name."""
        self._dial: DialAttempt | None = None
        self._dial_number = 0
        """Number of the latest dial: a cancelled one may still be resolving its name."""
        self._dial_target: Endpoint | None = None
        self._client_watched = False
        """True once the client socket is registered with the poller."""
        self._stalled: tuple[float, int] | None = None
        """Since when both ends have hung up and nothing has moved, and how many bytes had until then."""


if TYPE_CHECKING or native is None:
    LinkFields = PureLinkFields
else:
    LinkFields = native.LinkFields
