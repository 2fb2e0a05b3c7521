"""`fault toxiproxy`: a drop-in for a Toxiproxy server."""

from __future__ import annotations

from pathlib import Path

import click

from faultkit.base.documents.values import seed_of_text
from faultkit.cli.shared_options import seed_option


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
@seed_option("Seed of all random choices; by default a random one.", also=("-seed",))
@click.option("--proxy-metrics", "-proxy-metrics", is_flag=True, hidden=True, help="Always on.")
@click.option("--runtime-metrics", "-runtime-metrics", is_flag=True, hidden=True, help="Has no effect.")
def command(
    host: str, port: int, config: Path | None, seed: str | None, proxy_metrics: bool, runtime_metrics: bool
) -> None:
    """Serve the API of Toxiproxy, so that its clients can break connections here.

    Any Toxiproxy client can create proxies and toxics; the proxies of FILE are opened at the start, with
    their toxics. Runs until Ctrl-C or SIGTERM.
    """
    from faultkit.base.signals import StopSignal
    from faultkit.proxy.toxiproxy.toxiproxy_server import ToxiproxyServer

    # Toxiproxy takes a whole number; any other text is a seed, too.
    server = ToxiproxyServer(host, port, seed_of_text(seed) if seed else None)
    # While it serves, uvicorn handles SIGINT and SIGTERM, and raises them again for these handlers.
    with StopSignal(server.stop, server.stop):
        try:
            opened = server.populate(config) if config is not None else 0
            click.echo(f"Toxiproxy API on http://{server.endpoint}, proxies {opened}, seed {server.seed}")
            server.run()
        finally:
            server.close()
