"""Writes docs/client-behaviour.md from a run of real clients: `python docs/generate_client_behaviour.py`.

With the name of an interpreter that has fastmcp behind it, that client is run as well; without one, what the
page says of it stays as it stands. With the word `profiles` alone, only that section is made anew. Tests run
part of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
# What clients are put through is test code: it is found beside the docs, not in the package.
sys.path.insert(0, str(PROJECT))

from tests.mcp.faults.clients.cases import ALL, CASES, Case  # noqa: E402
from tests.mcp.faults.clients.observed import TIMEOUT_S, Observed  # noqa: E402
from tests.mcp.faults.clients.peers import Sdk  # noqa: E402
from tests.mcp.faults.clients.run import observe_all  # noqa: E402
from tests.mcp.faults.place import EVERYWHERE, HTTP, NEW, OLD, PIPES, Place  # noqa: E402

from faultkit.faults.call.call import Era, Transport  # noqa: E402
from faultkit.mcp.probe.clients.client_behaviour import ClientBehaviour  # noqa: E402
from faultkit.mcp.probe.clients.client_profile import profile_client  # noqa: E402
from faultkit.mcp.probe.clients.client_run import ProfileJob  # noqa: E402
from faultkit.mcp.probe.clients.fault_battery import BATTERY, fitting, kind_of  # noqa: E402
from faultkit.mcp.probe.clients.profile_report import markdown_table, outcome_of  # noqa: E402

PAGE = PROJECT / "docs" / "client-behaviour.md"
Found = dict[tuple[str, Place], Observed]

_HEAD = f"""\
# What clients do when calls go wrong

Made by `python docs/generate_client_behaviour.py` from a run of real clients: run it again, do not edit this
page. The server is the mock, one for each row, with one tool. The client knows the tools already; then comes
the call that the fault hits, with a timeout of {TIMEOUT_S:g} s, and after it one that nothing acts on. What
each fault is, and what else it can be told, is in [faults.md](faults.md).

- **the caller saw**: what the one who made the call got: a result, or what was raised. `the result` is the
  right one, of the first call.
- **when**: before its timeout, at it, or long after.
- **told**: the client let the server know that it gave up: `cancelled` by a notification, `closed` by closing
  the answer, which is the way of the modern era over HTTP.
- **calls**: how often the server was asked for how many calls, where these differ: `2 for 1` is a retry.
- **next call**: whether the client can still be used.
- **leaving**: what the end of `async with` did, where it was not plain.

Legacy is protocol version 2025-11-25, modern is 2026-07-28. A fault stands in the short form that `--fault`
takes. Rows of the largest sizes hang on how fast a machine is.

## What comes over the wire

- `frozen` is about the session of the call. Over stdio that is all there is; over HTTP in the legacy era,
  whatever names the session: requests, notifications, the GET stream, DELETE; other sessions go on. The
  modern era has no sessions over HTTP, so there the server stands still for all of its clients.
- `out_of_order` holds a reply until so many others have gone out since its call came, for 5 s at most, and
  one reply at a time. Over HTTP, where answers to different requests have no order on the wire, that is an
  order in time.
- `duplicate_reply`, `notification_storm` and `progress_storm` are a stream of events over HTTP, where one
  reply alone would be a JSON body. A storm waits for its reader.
- `truncated_reply` is half a line over stdio; over HTTP, a body that ends before its `content-length`, or
  half an event if a stream had begun.
- `http_status` after a stream has begun is a lost connection, for its status is out.
- `reply_after_cancel` answers on the POST of the call, if the client has left it open.
- Behind a gateway with HTTP on both sides, a stream that a fault makes cannot be resumed: its events have no
  ids.
"""

_WHERE: tuple[tuple[tuple[Place, ...], str], ...] = (
    (EVERYWHERE, "everywhere"),
    (PIPES, "stdio"),
    (HTTP, "HTTP"),
    (OLD, "legacy"),
    (NEW, "modern"),
)


_PLAIN = ("the ", "a ", "isError", "tools:", "no way", "MCPError", "fastmcp.ToolError")
_TIMED_OUT = "MCPError -32001"


def section(name: str, versions: str, found: Found) -> str:
    """All about one client."""
    parts = [f"## {name}", f"{versions}; Python {platform.python_version()}.", _summary(found), _table(found)]
    return "\n\n".join(parts) + "\n"


def _summary(found: Found) -> str:
    """What most people will want to know, counted from the table."""
    questions: tuple[tuple[str, Callable[[Observed], bool]], ...] = (
        ("The client cannot be used afterwards", lambda seen: seen.then != "works"),
        (
            "The caller gets something other than a result or an `MCPError`",
            lambda seen: not seen.saw.startswith(_PLAIN),
        ),
        ("The call is made again without the caller", _asks_again),
        ("Leaving the client is not plain", lambda seen: bool(seen.left)),
        (
            "The caller gave up and the server is not told",
            lambda seen: seen.saw.startswith(_TIMED_OUT) and not seen.told,
        ),
    )
    lines = []
    for text, holds in questions:
        kinds = _places_of((key for key, seen in found.items() if holds(seen)), found)
        lines.append(f"- {text}: {kinds or 'never'}.")
    return "\n".join(lines)


def _asks_again(seen: Observed) -> bool:
    asked, _, meant = seen.asked.partition(" for ")
    return bool(asked) and int(asked) > int(meant)


def _places_of(keys: Iterable[tuple[str, Place]], found: Found) -> str:
    where: dict[str, list[Place]] = {}
    for spec, place in keys:
        where.setdefault(spec, []).append(place)
    said = []
    for spec, places in where.items():
        fitting = [place for other, place in found if other == spec]
        said.append(f"`{spec}`" if len(places) == len(fitting) else f"`{spec}` ({_named(places)})")
    return ", ".join(said)


def _table(found: Found) -> str:
    rows = []
    for case in CASES:
        rows += rows_of(case, found)
    heads = ("fault", "where", "the caller saw", "when", "told", "calls", "next call", "leaving")
    return "\n".join((_row(heads), _row(["---"] * len(heads)), *rows))


def rows_of(case: Case, found: Found) -> list[str]:
    """One for all the places where the client did the same."""
    groups: dict[Observed, list[Place]] = {}
    for place in case.places():
        groups.setdefault(found[case.spec, place], []).append(place)
    return [
        _row(
            [
                f"`{case.spec}`",
                _named(places),
                seen.saw,
                seen.when,
                seen.told,
                seen.asked,
                seen.then,
                seen.left,
            ]
        )
        for seen, places in groups.items()
    ]


def _named(places: Sequence[Place]) -> str:
    for group, name in _WHERE:
        if set(group) == set(places):
            return name
    return ", ".join(f"{place.transport.replace('http', 'HTTP')} {place.era}" for place in places)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


def _run_elsewhere(python: str, name: str) -> str:
    """The section of a client that another interpreter has."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(PROJECT / "src"), str(PROJECT)))}
    command = [python, "-m", "tests.mcp.faults.clients", name]
    done = subprocess.run(command, env=env, cwd=PROJECT, stdout=subprocess.PIPE, check=True, timeout=300)
    told = json.loads(done.stdout)
    found = {(spec, Place(transport, era)): Observed(**seen) for spec, transport, era, seen in told["rows"]}
    return section(name, told["versions"], found)


def _kept(name: str) -> str:
    """The section as the page has it."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    found = re.search(rf"^## {name}\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return found[0].rstrip() + "\n" if found else ""


# --- profiles of programs ---------------------------------------------------------------------

PROFILED: tuple[tuple[str, str, Transport, Era], ...] = (
    ("mcp", "sdk_client.py", "stdio", "modern"),
    ("mcp", "sdk_client.py", "http", "modern"),
    ("fastmcp", "fastmcp_client.py", "stdio", "legacy"),
    ("fastmcp", "fastmcp_client.py", "http", "legacy"),
)
"""The eras are those that the clients choose by themselves."""
HANGING_ON_TIME = ("slow_drip", "oversized_result", "notification_storm", "progress_storm")
"""What comes of these hangs on how fast a machine is."""
STEADY = tuple(spec for spec in BATTERY if kind_of(spec) not in HANGING_ON_TIME)

_PROFILES = """\
## Profiles

What `fault profile` ([how](edge.md#profile-a-client)) says of two programs,
`examples/clients/sdk_client.py` and `examples/clients/fastmcp_client.py`. Both list the tools, call two of
them one after the other with a timeout of 2 s, make a call that failed once more, and end with exit code 1 if
that failed too. The eras are those that the clients choose.

- **answered**: it ended well and printed what it prints when nothing is wrong; **differently**: it ended well
  and printed something else, so that the fault reached its output.
- **failed**: it ended with that exit code. **hung**: it had to be ended after 20 s. **not exercised**: it
  does nothing that the fault acts on.
- **retries**: calls beyond the usual, by the program or its library. **cancelled**: the server was told.
- **left**: what the server still had open when the program had ended.

Left out is what hangs on how fast a machine is: {left_out}.
"""


def profiles() -> str:
    """The section of all programs: a row a fault, a column a program and place."""
    columns = [
        asyncio.run(conducts(script, transport, fitting(STEADY, transport, era)))
        for _, script, transport, era in PROFILED
    ]
    heads = [f"{name}, {transport.replace('http', 'HTTP')} {era}" for name, _, transport, era in PROFILED]
    rows = [[spec, *(cell_of(found.get(spec)) for found in columns)] for spec in STEADY]
    head = _PROFILES.format(left_out=", ".join(f"`{kind}`" for kind in HANGING_ON_TIME))
    return f"{head}\n{markdown_table(['fault', *heads], rows)}\n"


async def conducts(script: str, transport: Transport, specs: Sequence[str]) -> dict[str, ClientBehaviour]:
    place = "{url}" if transport == "http" else "{server}"
    command = (sys.executable, str(PROJECT / "examples" / "clients" / script), place)
    found = await profile_client(ProfileJob(command, transport, limit_s=20.0), specs)
    assert not found.notes, found.notes
    return {row.spec: row for row in found.rows}


def cell_of(conduct: ClientBehaviour | None) -> str:
    """Without what hangs on time."""
    if conduct is None:
        return ""
    said = [
        outcome_of(conduct),
        f"{conduct.retries} retr{'y' if conduct.retries == 1 else 'ies'}" if conduct.retries else "",
        "cancelled" if conduct.cancelled else "",
        "began anew" if conduct.reconnects else "",
        f"left {', '.join(conduct.leaks)}" if conduct.leaks else "",
    ]
    return "; ".join(word for word in said if word)


def main(arguments: Sequence[str]) -> None:
    if list(arguments) == ["profiles"]:
        parts = [_HEAD, _kept("mcp"), _kept("fastmcp"), profiles()]
    else:
        sdk = Sdk()
        parts = [_HEAD, section(sdk.name, sdk.versions(), asyncio.run(observe_all(sdk, ALL)))]
        parts.append(_run_elsewhere(arguments[0], "fastmcp") if arguments else _kept("fastmcp"))
        parts.append(profiles())
    PAGE.write_text("\n".join(part for part in parts if part), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
