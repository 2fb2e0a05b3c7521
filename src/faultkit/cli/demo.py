"""`fault demo`: a service with a dependency, to try faults on."""

from __future__ import annotations

import signal

import click

_STOP = (signal.SIGINT, signal.SIGTERM)


@click.group("demo")
def command() -> None:
    """A small service with a dependency, to try faults on. It needs no internet."""


@command.command("run")
@click.argument("address", default="127.0.0.1", envvar="FAULT_DEMO_ADDR")
@click.argument("port", type=click.IntRange(0, 65535), default=7070, envvar="FAULT_DEMO_PORT")
@click.option(
    "--upstream",
    metavar="URL",
    help="Where the service calls its upstream; for example a port on which `fault run` listens and "
    "that leads to our own upstream. By default straight to that.",
)
@click.option(
    "--upstream-port",
    type=click.IntRange(0, 65535),
    default=7071,
    show_default=True,
    help="Port of our own upstream; 0 takes any free port.",
)
@click.option(
    "--upstream-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    default=10.0,
    show_default=True,
    help="Give up on the upstream after so long and answer 504.",
)
def run(address: str, port: int, upstream: str | None, upstream_port: int, upstream_timeout: float) -> None:
    """Serve the demo on ADDRESS (127.0.0.1) and PORT (7070) until Ctrl-C or SIGTERM.

    \b
      GET  /             a page that says hello
      GET  /ping         calls the upstream: {content, duration in ms}
      GET  /ping/myself  calls its own first page
      POST /uppercase    {content} in capitals
      GET  /multi        calls the upstream twice at the same time

    Each request is told as `METHOD path status duration`. Calls to the upstream go through the proxy that
    HTTP_PROXY or HTTPS_PROXY name, unless NO_PROXY names the host; that holds for 127.0.0.1, too.
    """
    from faultkit.base.address import Endpoint
    from faultkit.demo.server import DemoServer

    broken: list[BrokenPipeError] = []

    def report(line: str) -> None:
        try:
            click.echo(line)
        except BrokenPipeError as error:
            broken.append(error)
            server.stop()

    server = DemoServer(
        Endpoint(address, port),
        upstream=upstream,
        upstream_port=upstream_port,
        timeout_s=upstream_timeout,
        report=report,
    )
    own = f" (our own listens on {server.upstream})" if upstream is not None else ""
    before = {number: signal.signal(number, lambda *_: server.stop()) for number in _STOP}
    try:
        click.echo(f"demo on http://{server.endpoint}, upstream {server.upstream_url}{own}")
        server.run()
    finally:
        server.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    if broken:
        raise broken[0]
