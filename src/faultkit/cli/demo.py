"""`fault demo`: a small service with a dependency, to try faults on."""

from __future__ import annotations

import click


@click.group("demo")
def command() -> None:
    """Run a small service with a dependency, to try faults on. It needs no internet access."""


@command.command("run")
@click.argument("address", default="127.0.0.1", envvar="FAULT_DEMO_ADDR")
@click.argument("port", type=click.IntRange(0, 65535), default=7070, envvar="FAULT_DEMO_PORT")
@click.option(
    "--upstream",
    metavar="URL",
    help="URL at which the service calls its upstream, such as that of a `fault run` proxy in front of the "
    "built-in upstream. By default the built-in upstream itself.",
)
@click.option(
    "--upstream-port",
    type=click.IntRange(0, 65535),
    default=7071,
    show_default=True,
    help="Port of the built-in upstream; 0 takes any free port.",
)
@click.option(
    "--upstream-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    default=10.0,
    show_default=True,
    help="Time after which a call to the upstream is given up and answered with 504.",
)
@click.option(
    "--upstream-retries",
    type=click.IntRange(0, 100),
    default=0,
    show_default=True,
    help="How often a call to the upstream without a response is made again, at once.",
)
def run(
    address: str,
    port: int,
    upstream: str | None,
    upstream_port: int,
    upstream_timeout: float,
    upstream_retries: int,
) -> None:
    """Serve the demo on ADDRESS (127.0.0.1) and PORT (7070) until Ctrl-C or SIGTERM.

    \b
      GET  /             returns a page
      GET  /ping         calls the upstream: {content, duration in ms}
      GET  /ping/myself  calls the service's own page
      POST /uppercase    returns {content} in capitals
      GET  /multi        calls the upstream twice at the same time
      GET  /events       sends ten server-sent events, 50 ms apart

    Each request is printed as `METHOD path status duration`. Calls to the upstream, also on 127.0.0.1, go
    through the proxy of HTTP_PROXY or HTTPS_PROXY, unless NO_PROXY names the host.
    """
    from faultkit.base.address import Endpoint
    from faultkit.base.signals import StopSignal
    from faultkit.demo.demo_server import DemoServer

    # An error in `report` would only fail a request: it stops the server, and is raised at the end.
    pipe_errors: list[BrokenPipeError] = []

    def report(line: str) -> None:
        try:
            click.echo(line)
        except BrokenPipeError as error:
            pipe_errors.append(error)
            server.stop()

    server = DemoServer(
        Endpoint(address, port),
        upstream=upstream,
        upstream_port=upstream_port,
        timeout_s=upstream_timeout,
        retries=upstream_retries,
        report=report,
    )
    built_in = f" (the built-in one listens on {server.upstream})" if upstream is not None else ""
    with StopSignal(server.stop, server.stop):
        try:
            click.echo(f"demo on http://{server.endpoint}, upstream {server.upstream_url}{built_in}")
            server.run()
        finally:
            server.close()
    if pipe_errors:
        raise pipe_errors[0]
