"""Configurations of the peers and of the HTTP origin, as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_STREAM_MODULE = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
_SPARE_FILES = 200
# haproxy reserves descriptors for the pipes of splicing; idle connections need none.
_PIPES = 64


def haproxy_config(upstreams: Mapping[str, int], ports: Mapping[str, int], open_files: int) -> str:
    """Return haproxy's configuration: TCP mode on one thread, with splicing forced for bulk."""
    lines = [
        "global",
        "  nbthread 1",
        # The largest pipe without privileges; with the default of 64 KB, haproxy takes twice the CPU.
        "  tune.pipesize 1048576",
        f"  maxconn {(open_files - _SPARE_FILES - 2 * _PIPES) // 2}",
        f"  maxpipes {_PIPES}",
        "defaults",
        "  mode tcp",
        "  timeout connect 5s",
        "  timeout client 10m",
        "  timeout server 10m",
        "  option splice-auto",
    ]
    for name, upstream in upstreams.items():
        lines += [f"listen {name}", f"  bind 127.0.0.1:{ports[name]}"]
        if name == "sink":
            lines += ["  option splice-request", "  option splice-response"]
        lines += [f"  server origin 127.0.0.1:{upstream}"]
    return "\n".join([*lines, ""])


def nginx_stream_module() -> list[str]:
    return [f"load_module {_STREAM_MODULE};"] if _STREAM_MODULE.exists() else []


def nginx_stream_config(
    upstreams: Mapping[str, int], ports: Mapping[str, int], open_files: int, folder: Path
) -> str:
    servers = [
        f"  server {{ listen 127.0.0.1:{ports[name]} backlog=4096; proxy_pass 127.0.0.1:{upstream}; }}"
        for name, upstream in upstreams.items()
    ]
    return "\n".join(
        [
            *nginx_stream_module(),
            *nginx_main(open_files, folder, "nginx-stream"),
            "stream {",
            "  tcp_nodelay on;",
            "  proxy_timeout 10m;",
            "  access_log off;",
            *servers,
            "}",
            "",
        ]
    )


def nginx_origin_config(
    port: int, open_files: int, folder: Path, kind: str = "http", server_pem: Path | None = None
) -> str:
    """Return nginx's configuration of an origin with a small fixed answer, which costs little CPU.

    kind: `http`; `https`, with HTTP/2; or `h2c`, HTTP/2 without TLS"""
    temporary = [
        f"  {each}_temp_path {folder / f'{kind}-temporary'};"
        for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    ]
    secure = (
        [f"    ssl_certificate {server_pem};", f"    ssl_certificate_key {server_pem};"] if server_pem else []
    )
    speaks = {"http": "", "https": " ssl http2", "h2c": " http2"}[kind]
    return "\n".join(
        [
            *nginx_main(open_files, folder, f"nginx-{kind}-origin"),
            "http {",
            "  access_log off;",
            "  keepalive_requests 1000000000;",
            *temporary,
            "  server {",
            f"    listen 127.0.0.1:{port}{speaks} backlog=4096;",
            *secure,
            '    location / { return 200 "0123456789abcdef0123456789abcdef"; }',
            '    location = /unique { return 200 "$request_id"; }',
            "    location = /status { stub_status; }",
            "  }",
            "}",
            "",
        ]
    )


def nginx_main(open_files: int, folder: Path, name: str) -> list[str]:
    return [
        "daemon off;",
        "worker_processes 1;",
        f"worker_rlimit_nofile {open_files};",
        f"pid {folder / name}.pid;",
        "error_log stderr error;",
        f"events {{ worker_connections {open_files - _SPARE_FILES}; }}",
    ]
