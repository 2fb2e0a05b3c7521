"""`fault toxiproxy`: a drop-in for a Toxiproxy server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultkit.base.documents.values import seed_of_text
from faultkit.base.errors import InputError
from faultkit.cli.shared_options import seed_option

if TYPE_CHECKING:
    import ssl


@click.command("toxiproxy")
@click.option("--host", "-host", default="localhost", show_default=True, help="Host that the API listens on.")
@click.option(
    "--port",
    "-port",
    type=click.IntRange(0, 65535),
    default=8474,
    show_default=True,
    help="Port that the API listens on; 0 takes any free port.",
)
@click.option(
    "--config",
    "-config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON file with a list of proxies to open, each with its `toxics`, if any.",
)
@click.option(
    "--tls-cert",
    metavar="FILE",
    envvar="FAULT_TLS_CERT",
    help="Certificate of the API (PEM): it then speaks HTTPS. Proxies have a `tls` block of their own.",
)
@click.option("--tls-key", metavar="FILE", envvar="FAULT_TLS_KEY", help="Private key of --tls-cert (PEM).")
@seed_option("Seed of all random choices; by default a random one.", also=("-seed",))
@click.option("--proxy-metrics", "-proxy-metrics", is_flag=True, hidden=True, help="Always on.")
@click.option("--runtime-metrics", "-runtime-metrics", is_flag=True, hidden=True, help="Has no effect.")
def command(
    host: str,
    port: int,
    config: Path | None,
    seed: str | None,
    proxy_metrics: bool,
    runtime_metrics: bool,
    tls_cert: str | None,
    tls_key: str | None,
) -> None:
    """Serve the API of Toxiproxy, so that its clients can break connections here.

    Any Toxiproxy client can create proxies and toxics; the proxies of FILE are opened at the start, with
    their toxics. Runs until Ctrl-C or SIGTERM.
    """
    from faultkit.base.signals import StopSignal
    from faultkit.proxy.toxiproxy.toxiproxy_server import ToxiproxyServer

    # Toxiproxy takes a whole number; any other text is a seed, too.
    given = seed_of_text(seed) if seed else None
    server = ToxiproxyServer(host, port, given, _tls(tls_cert, tls_key))
    # While it serves, uvicorn handles SIGINT and SIGTERM, and raises them again for these handlers.
    with StopSignal(server.stop, server.stop):
        try:
            opened = server.populate(config) if config is not None else 0
            click.echo(f"Toxiproxy API on {server.url}, proxies {opened}, seed {server.seed}")
            server.run()
        finally:
            server.close()


def _tls(cert: str | None, key: str | None) -> ssl.SSLContext | None:
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        given, missing = ("--tls-key", "--tls-cert") if cert is None else ("--tls-cert", "--tls-key")
        raise InputError(given, f"expected {missing} beside it, got none")
    from faultkit.base.certificates import add_certificate, server_context

    context = server_context()
    add_certificate(context, cert, key, ("--tls-cert", "--tls-key"))
    return context
