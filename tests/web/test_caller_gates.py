"""The gates of `fault serve`: the identity of a caller goes with its request."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from faultkit.audit.access.access import Access, Decision
from faultkit.audit.access.identity import Identity
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.mcp.wire.exchange import Exchange
from faultkit.web.caller_gates import Authenticator


def test_callers_whose_look_ups_end_in_another_order_keep_their_names() -> None:
    names = ("anna", "ben", "cleo")

    async def admit_all() -> dict[str, Any]:
        look_ups: dict[str, asyncio.Future[Decision]] = {
            name: asyncio.get_running_loop().create_future() for name in names
        }
        access = SimpleNamespace(check=lambda request, scope: look_ups[request.peer])
        gate = Authenticator(cast(Access, access))
        senders: dict[str, Any] = {}
        all_admitted = asyncio.Event()
        answer = cast(ResponseWriter, SimpleNamespace(is_open=True))
        for name in names:
            request = HttpRequest("POST", "/mcp", {}, [], b"", name)

            def go_on(caller: str, sender: object = None, name: str = name) -> None:
                senders[name] = caller, sender
                if len(senders) == len(names):
                    all_admitted.set()

            gate.admit(request, answer, go_on)
        for name in reversed(names):
            look_ups[name].set_result(Identity(name, "apikey", frozenset(("call",)), key_name=f"{name}s-key"))
            await asyncio.sleep(0)
        await all_admitted.wait()
        return {
            name: (caller, gate.identify(cast(Exchange, SimpleNamespace(sender=sender, headers={}))))
            for name, (caller, sender) in senders.items()
        }

    for name, (caller, identified) in asyncio.run(admit_all()).items():
        assert caller == f"apikey:{name}"
        assert (identified.subject, identified.key_name, identified.peer) == (name, f"{name}s-key", name)
