"""Withheld window: the sender of a body gets no more WINDOW_UPDATE, as if its receiver did not read.

Only this stream stalls. The connection has a window of its own, which is still extended (RFC 9113 §5.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.fault import setting
from faultkit.faults.http2_fault import Http2Effect, Http2Fault, WithholdWindow


@dataclass(frozen=True)
class WithheldWindow(Http2Fault):
    kind: ClassVar[str] = "withheld_window"
    summary: ClassVar[str] = "The body of an HTTP/2 request or answer stalls: its sender gets no more window."

    way: Literal["upload", "download"] = setting(
        "download",
        "Which body: upload, the client's; download, the upstream's.",
        choices=("upload", "download"),
    )
    after_bytes: int = setting(65535, "Bytes of the body that pass first.", unit="bytes", minimum=0)

    def effect(self) -> Http2Effect:
        return WithholdWindow(self.way, self.after_bytes)
