"""`tcp`: whether somebody listens, and what they answer. To be refused is an answer, too."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.base.address import Endpoint, parse_endpoint
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.work.work import USUAL_LIMIT_S, Scene, why_of

KEYS = ("address", "send")
ADDRESS_FORM = "an address such as 127.0.0.1:6379"
_MOST_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class TcpCall:
    address: Endpoint
    send: str | None = None
    kind: ClassVar[str] = "tcp"
    usual_limit_s: ClassVar[float] = USUAL_LIMIT_S

    @property
    def says(self) -> str:
        return f"connect to {self.address}"

    def resolve(self, scene: Scene) -> None:
        """Whoever listens is known only when asked."""

    async def perform(self, scene: Scene) -> Any:
        """`status`: open, refused or unreachable; `reply`: the first that came, if something was sent."""
        began = time.monotonic()
        answer: dict[str, Any] = {"status": "open"}
        try:
            reader, writer = await asyncio.open_connection(self.address.host, self.address.port)
        except ConnectionRefusedError:
            answer["status"] = "refused"
        except OSError as error:
            answer |= {"status": "unreachable", "why": why_of(error)}
        else:
            try:
                if self.send is not None:
                    writer.write(self.send.encode())
                    answer["reply"] = (await reader.read(_MOST_BYTES)).decode("utf-8", "replace")
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
        return {**answer, "elapsed_ms": round((time.monotonic() - began) * 1000, 3)}


def parse_tcp(value: object, path: str, problems: list[InputError]) -> TcpCall | None:
    before = len(problems)
    given = {"address": value} if isinstance(value, str | int) and not isinstance(value, bool) else value
    reading = Reading(given, KEYS, path, problems)
    address = reading.need("address", read_address, Endpoint("", 0), ADDRESS_FORM)
    send = reading.take("send", text, None)
    return TcpCall(address, send) if len(problems) == before else None


def read_address(value: object) -> Endpoint:
    written = str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value)
    try:
        return parse_endpoint(written)
    except InputError as error:
        raise InputError("", f"expected {ADDRESS_FORM}: {error.problem}") from None
