"""The traffic of proxies as Prometheus text, with the names and labels of the original. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.proxy.toxiproxy.registry import Traffic

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_FAMILIES = (
    ("toxiproxy_proxy_received_bytes_total", "Bytes that came in and were passed on."),
    ("toxiproxy_proxy_sent_bytes_total", "Bytes that were passed on."),
)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def render(traffic: Iterable[Traffic]) -> str:
    rows = list(traffic)
    lines: list[str] = []
    for family, help in _FAMILIES:
        lines += (f"# HELP {family} {help}", f"# TYPE {family} counter")
        for row in rows:
            for direction, moved in (
                ("upstream", row.to_upstream_bytes),
                ("downstream", row.to_client_bytes),
            ):
                labels = {
                    "direction": direction,
                    "listener": row.listener,
                    "proxy": row.proxy,
                    "upstream": row.upstream,
                }
                pairs = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items())
                lines.append(f"{family}{{{pairs}}} {moved}")
    return "\n".join(lines) + "\n"
