"""The options that choose rows, the same for all who read the audit log; and how a log is opened for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from faultkit.audit.filter import HAS
from faultkit.base.errors import InputError

if TYPE_CHECKING:
    from faultkit.audit.filter import Filter
    from faultkit.audit.store import Store

_NAMES = (
    "tool",
    "user",
    "session",
    "category",
    "source",
    "auth_type",
    "key",
    "from",
    "to",
    "q",
    "limit",
    "offset",
)
_SUCCESS = (("success", "true"), ("failed", "false"))
_PATHS = ("param", "response", "header")


def filter_options(command: Any) -> Any:
    """A command takes them as `**options`, and hands them to `filter_from`."""
    when = 'Such as "2026-01-31T12:00:00Z", or how long ago, such as "15m".'
    options = (
        click.option("--tool", metavar="NAME", help="Calls of this tool."),
        click.option("--user", metavar="NAME", help="Calls of this user."),
        click.option("--session", metavar="ID", help="Calls of this session."),
        click.option("--success", is_flag=True, help="Calls that went well."),
        click.option("--failed", is_flag=True, help="Calls that did not."),
        click.option("--category", metavar="NAME", help="Errors of this category."),
        click.option(
            "--source",
            metavar="NAME",
            help="Calls by mcp, portal-tryit or portal-replay; door: who was refused.",
        ),
        click.option("--auth-type", metavar="NAME", help="Calls of the anonymous, by apikey or by oidc."),
        click.option("--key", metavar="NAME", help="Calls with the API key of this name."),
        click.option("--from", "from_", metavar="TIME", help=f"Calls that began then or later. {when}"),
        click.option("--to", metavar="TIME", help="Calls that began before."),
        click.option("--text", "q", metavar="TEXT", help="In the tool's name, the error or the user's name."),
        click.option(
            "--param",
            metavar="PATH=VALUE",
            multiple=True,
            help='Calls with this parameter, such as seed=abc or extras.list.0=5; in quotes ("5") a text.',
        ),
        click.option(
            "--response",
            metavar="PATH=VALUE",
            multiple=True,
            help="Calls with this in their result or error, such as isError=true or data.roll=0.5.",
        ),
        click.option(
            "--header",
            metavar="NAME=VALUE",
            multiple=True,
            help="Calls whose request had this header, such as User-Agent=curl/8.",
        ),
        click.option(
            "--has", type=click.Choice(HAS), multiple=True, help="Calls of which this is in the log."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def page_options(command: Any) -> Any:
    command = click.option("--offset", metavar="N", default="0", help="Leave out so many of the newest.")(
        command
    )
    return click.option("--limit", metavar="N", default="50", show_default=True, help="At most so many.")(
        command
    )


def filter_from(options: dict[str, Any]) -> Filter:
    from faultkit.audit.filter import parse_filter
    from faultkit.base.times import now_us

    given = {"from": options.get("from_"), **options}
    pairs = [(name, given[name]) for name in _NAMES if given.get(name) is not None]
    if options.get("success") and options.get("failed"):
        raise InputError("--failed", "expected without --success, got both: no call is both")
    pairs += [("success", text) for name, text in _SUCCESS if options.get(name)]
    pairs += [("has", each) for each in options.get("has", ())]
    for kind in _PATHS:
        for each in options.get(kind, ()):
            path, equals, value = each.partition("=")
            if not equals:
                form = "NAME=VALUE" if kind == "header" else "PATH=VALUE"
                raise InputError(f"--{kind}", f'expected {form}, got "{each[:60]}"')
            pairs.append((f"{kind}.{path}", value))
    try:
        return parse_filter(pairs, now_us())
    except InputError as error:
        shown = "text" if error.path == "q" else error.path
        raise InputError(f"--{shown.replace('_', '-')}", error.problem) from None


def opened(store: str) -> Store:
    """To be read: what is not there is not made."""
    from faultkit.audit.opening import open_store
    from faultkit.audit.place import MEMORY

    if store == MEMORY:
        raise InputError("--store", "expected a file or a URL: memory: can be read only by who writes it")
    return open_store(store, create=False)
