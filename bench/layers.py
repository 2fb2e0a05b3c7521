"""Layers between the two sockets of a relay (TLS, HTTP/2), in the language of each relay that has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.configs import nginx_main, nginx_stream_module
from bench.tls_files import TlsFiles

HAPROXY, NGINX, MITMPROXY = "haproxy", "nginx", "mitmproxy"


@dataclass(frozen=True, slots=True)
class Layer:
    """What a relay speaks to either side."""

    upstream: str
    """The upstream that it is between: `http`, `https`, `h2c`, `grpc` or `websocket`."""
    to_clients: str
    """The scheme of our map on the left."""
    to_upstream: str
    """The scheme of our map on the right."""
    peers: tuple[str, ...] = (HAPROXY, NGINX)
    """Those that can do the same."""
    intercepts: bool = False
    """Whether it is a forward proxy that looks into CONNECT tunnels."""

    @property
    def is_http_2(self) -> bool:
        """Whether haproxy and nginx understand HTTP/2 for it; otherwise they relay streams."""
        return self.upstream != "websocket" and ("http" in self.to_clients or "http" in self.to_upstream)


LAYERS: Mapping[str, Layer] = {
    "tls-client": Layer("http", "tls", "tcp"),
    "tls-upstream": Layer("https", "tcp", "tls"),
    "tls-both": Layer("https", "tls", "tls"),
    "http2": Layer("https", "https", "https"),
    "h2c": Layer("h2c", "http", "http", peers=(HAPROXY,)),
    "grpc": Layer("grpc", "http", "http", peers=(HAPROXY,)),
    "websocket": Layer("websocket", "tcp", "http"),
    "intercept": Layer("https", "", "", peers=(MITMPROXY,), intercepts=True),
}


def haproxy_layer_config(layer: Layer, upstream: int, port: int, files: TlsFiles, connections: int) -> str:
    """Return haproxy's configuration, on one thread; certificates of the upstream are verified."""
    bind, server = f"  bind 127.0.0.1:{port}", f"  server origin 127.0.0.1:{upstream}"
    if layer.to_clients in ("tls", "https"):
        bind += f" ssl crt {files.server}"
    if layer.to_upstream in ("tls", "https"):
        server += f" ssl verify required ca-file {files.trusted}"
    if layer.is_http_2:
        secure = layer.to_clients == "https"
        bind += " alpn h2,http/1.1" if secure else " proto h2"
        server += " alpn h2" if secure else " proto h2"
    lines = [
        "global",
        "  nbthread 1",
        f"  maxconn {connections}",
        "defaults",
        f"  mode {'http' if layer.is_http_2 else 'tcp'}",
        "  timeout connect 5s",
        "  timeout client 10m",
        "  timeout server 10m",
        "listen only",
        bind,
        server,
        "",
    ]
    return "\n".join(lines)


def nginx_layer_config(
    layer: Layer, upstream: int, port: int, files: TlsFiles, open_files: int, folder: Path
) -> str:
    """Return nginx's configuration, with one worker. HTTP/2 is for its clients only: upstreams get 1.1."""
    secure = layer.to_clients in ("tls", "https")
    block = "http" if layer.is_http_2 else "stream"
    listen = f"listen 127.0.0.1:{port}{' ssl' if secure else ''}{' http2' if layer.is_http_2 else ''}"
    server = [f"    {listen} backlog=4096;"]
    if secure:
        server += [f"    ssl_certificate {files.server};", f"    ssl_certificate_key {files.server};"]
    verified = [
        f"    proxy_ssl_trusted_certificate {files.trusted};",
        "    proxy_ssl_verify on;",
        "    proxy_ssl_name localhost;",  # It compares names only, not addresses.
    ]
    before: list[str] = []
    if layer.is_http_2:
        before = [
            f"  upstream origin {{ server 127.0.0.1:{upstream};",
            "    keepalive 64; keepalive_requests 1000000000; }",
            "  keepalive_requests 1000000000;",
            *(f"  {kind}_temp_path {folder / 'nginx-temporary'};" for kind in TEMPORARY),
        ]
        server += [
            *verified,
            '    proxy_http_version 1.1; proxy_set_header Connection "";',
            "    location / { proxy_pass https://origin; }",
        ]
    else:
        before = ["  tcp_nodelay on;", "  proxy_timeout 10m;"]
        server += [f"    proxy_pass 127.0.0.1:{upstream};"]
        if layer.to_upstream == "tls":
            server += ["    proxy_ssl on;", *verified]
    return "\n".join(
        [
            *([] if layer.is_http_2 else nginx_stream_module()),
            *nginx_main(open_files, folder, "nginx-layer"),
            f"{block} {{",
            "  access_log off;",
            *before,
            "  server {",
            *server,
            "  }",
            "}",
            "",
        ]
    )


TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
