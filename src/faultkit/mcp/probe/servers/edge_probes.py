"""The EDGE probes: what each sends, and the table of all in the order in which they are run.

A probe gets a `ProbeSession` and returns a `Judgement`. Probes numbered from 101 are Faultkit's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from faultkit.base.errors import TargetError
from faultkit.base.text import and_list
from faultkit.faults.call_fault import TRANSPORTS, Transport
from faultkit.mcp.probe.servers import judgements
from faultkit.mcp.probe.servers.probe_results import (
    Judgement,
    Level,
    ProbeEvidence,
    ProbeResponse,
    not_applicable,
    passed,
    unanswered,
)
from faultkit.mcp.probe.servers.probe_session import MakeArguments, ProbeSession
from faultkit.mcp.probe.servers.tool_arguments import (
    emptiest_arguments,
    invalid_arguments_for,
    ordinary_arguments,
    with_empty_array,
    with_text,
)
from faultkit.mcp.wire.message import Id, encode


@dataclass(frozen=True, slots=True)
class Probe:
    """One rule for servers, and how to check it."""

    id: str
    title: str
    """The rule in one sentence."""
    run: Callable[[ProbeSession], Awaitable[Judgement]]
    level: Level = "SHOULD"
    transports: tuple[Transport, ...] = TRANSPORTS


PLAIN_TEXT = "faultkit-probe"
UNICODE_TEXT = "Zoë 東京 ελληνικά שלום 🧪👩\u200d🚀 “q” \\ \u2028 \U0001d54f"
"""Several scripts, right-to-left text, an emoji of three code points, and characters beyond the basic plane.
No Unicode normalisation changes it."""
_CAN_BE_MADE = "has arguments that can be made up"
LARGE = 1 << 20
"""Characters of a very large argument."""
REPETITIONS = 3
CONCURRENT_CALLS = 8
_UNDER_WAY_S = 0.05
"""Seconds that a call gets to reach the server before it is cancelled."""


async def unicode_arguments(session: ProbeSession) -> Judgement:
    """Call a tool with text in several scripts, and compare with plain text."""
    chosen = await session.choose(_with(UNICODE_TEXT), _with(PLAIN_TEXT), "takes any text")
    if isinstance(chosen, Judgement):
        return chosen
    tool, arguments, control = chosen
    response = await session.call(tool, arguments)
    return judgements.unicode_survives(control, response, UNICODE_TEXT, PLAIN_TEXT)


def _with(text: str) -> MakeArguments:
    return lambda tool, given: with_text(tool, text, given)


async def large_input(session: ProbeSession) -> Judgement:
    """Call a tool with a very long text."""
    what = f"takes a text of {LARGE:,} characters"
    chosen = await session.choose(_with("x" * LARGE), _with(PLAIN_TEXT), what)
    if isinstance(chosen, Judgement):
        return chosen
    return judgements.answered(await session.call(*chosen[:2]))


async def empty_input(session: ProbeSession) -> Judgement:
    """Call a tool several times with as few arguments as it allows."""
    first = next(session.candidates(emptiest_arguments), None)
    if first is None:
        return session.no_tool(_CAN_BE_MADE)
    responses = [await session.call(*first) for _ in range(REPETITIONS)]
    judgement = judgements.same_each_time(responses)
    if judgement.verdict != "passed" or responses[0].kind == "result":
        return judgement
    # It was refused: that shows something only of a tool that accepts an ordinary call.
    chosen = await session.choose(emptiest_arguments, ordinary_arguments, _CAN_BE_MADE)
    if isinstance(chosen, Judgement):
        return chosen
    if chosen[0] == first[0]:
        return judgement
    return judgements.same_each_time([await session.call(*chosen[:2]) for _ in range(REPETITIONS)])


async def concurrent_calls(session: ProbeSession) -> Judgement:
    """Call a tool several times at once."""
    chosen = await session.choose(ordinary_arguments, ordinary_arguments, _CAN_BE_MADE)
    if isinstance(chosen, Judgement):
        return chosen
    stray_replies = session.server.wire.stray_replies
    responses = await asyncio.gather(*(session.call(*chosen[:2]) for _ in range(CONCURRENT_CALLS)))
    # A second reply to one of them has arrived by the time that a later request is answered.
    after = await session.server.check_alive()
    if after.problem:
        return judgements.problem_of(after, "afterwards: ")
    return judgements.answered_once(responses, session.server.wire.stray_replies - stray_replies)


async def server_timeout(session: ProbeSession) -> Judgement:
    """Call the tool that the user named as slow."""
    if session.slow is None:
        return not_applicable("name a tool that takes longer than the server allows with --slow")
    name, arguments = session.slow
    id = f"slow-{name}"
    response = await session.call(name, arguments, id)
    if response.reply is None and not response.is_lost:
        await session.server.cancel(id)
    return judgements.fails_cleanly(response)


async def empty_arrays(session: ProbeSession) -> Judgement:
    """Call a tool with an empty array."""
    chosen = await session.choose(with_empty_array, ordinary_arguments, "takes an empty array")
    if isinstance(chosen, Judgement):
        return chosen
    return judgements.answered(await session.call(*chosen[:2]))


async def invalid_arguments(session: ProbeSession) -> Judgement:
    """Call a tool with arguments that its schema excludes."""
    what = "has a schema that excludes anything"
    chosen = await session.choose(invalid_arguments_for, ordinary_arguments, what)
    if isinstance(chosen, Judgement):
        return chosen
    return judgements.refuses(await session.call(*chosen[:2]))


async def cancelled_call(session: ProbeSession) -> Judgement:
    """Cancel a call that is under way, then send another request."""
    chosen = await session.choose(ordinary_arguments, ordinary_arguments, _CAN_BE_MADE)
    if isinstance(chosen, Judgement):
        return chosen
    id = "called-off"
    calling = asyncio.ensure_future(session.call(*chosen[:2], id))
    try:
        # Wait until the call is under way: it may need a connection first.
        await asyncio.wait([calling], timeout=_UNDER_WAY_S)
        if (session.server.era, session.server.wire.transport) != ("modern", "http"):
            await session.server.cancel(id)
            await asyncio.wait([calling], timeout=_UNDER_WAY_S)
    finally:
        # In the modern era over HTTP, closing the response is the cancellation.
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    return judgements.answers_after_cancellation(await session.ask(session.server.always_served, {}))


ROUNDS = 3
OVERSIZED = 8 << 20
"""Bytes of an oversized message."""
IDS: tuple[Id, ...] = (90, 7, "b", 41, "a", 8)
"""In no order, numbers and strings."""
LISTS = (("tools/list", "tools"), ("resources/list", "resources"), ("prompts/list", "prompts"))
_MOST_PAGES = 50
_CLOSING_S = 5.0
_UNKNOWN = "faultkit-no-such-tool"


async def rapid_init(session: ProbeSession) -> Judgement:
    """Open and end several sessions, one right after the other."""
    troubles = []
    is_unanswered = False
    for number in range(1, ROUNDS + 1):
        try:
            server = await session.open_another()
            trouble = await server.wire.end_session(min(_CLOSING_S, session.options.wait_s))
            if server.opening_problem:
                trouble, is_unanswered = server.opening_problem, True
        except TargetError as error:
            trouble, is_unanswered = str(error), True
        session.note(ProbeEvidence(f"round {number}: initialize, end of the session", trouble or "in order"))
        troubles.append(trouble)
    judgement = judgements.sessions_end(troubles, ROUNDS)
    return unanswered(judgement.why) if is_unanswered else judgement


async def reply_ids(session: ProbeSession) -> Judgement:
    """Send requests with ids of both types at once."""
    method = session.server.always_served
    listing = "tools/list" if "tools" in session.server.capabilities else method
    methods = [listing if number % 2 else method for number in range(len(IDS))]
    responses = await asyncio.gather(
        *(session.ask(name, {}, id) for name, id in zip(methods, IDS, strict=True))
    )
    return judgements.ids_match(list(zip(IDS, responses, strict=True)))


async def truncated_line(session: ProbeSession) -> Judgement:
    """Send the first half of a message."""
    whole, id = session.server.request("ping", {})
    return judgements.parse_error(await session.ask_raw(whole[: len(whole) // 2], id))


async def malformed_envelope(session: ProbeSession) -> Judgement:
    """Send messages that are JSON but not valid JSON-RPC requests."""
    envelopes = (
        ('without "jsonrpc"', {"id": "e1", "method": "ping"}),
        ('of "jsonrpc": "1.0"', {"jsonrpc": "1.0", "id": "e2", "method": "ping"}),
        ("whose method is a number", {"jsonrpc": "2.0", "id": "e3", "method": 42}),
    )
    responses: list[tuple[str, ProbeResponse]] = []
    for what, envelope in envelopes:
        responses.append((what, await session.ask_raw(encode(envelope), str(envelope["id"]))))
        if responses[-1][1].problem:
            # A server that ignores one will ignore the others, and each costs the whole time limit.
            break
    return judgements.invalid_request(responses)


async def oversized_payload(session: ProbeSession) -> Judgement:
    """Send a request of several megabytes."""
    raw, id = session.server.request("tools/list", {"padding": "x" * OVERSIZED})
    return judgements.serves_or_refuses(await session.ask_raw(raw, id))


async def unknown_tool(session: ProbeSession) -> Judgement:
    """Call a tool that does not exist."""
    if "tools" not in session.server.capabilities:
        return not_applicable("the server has no tools")
    response = await session.ask("tools/call", {"name": _UNKNOWN, "arguments": {}})
    judgement = judgements.refuses_unknown_tool(response)
    if judgement.verdict != "passed" or judgements.names(response, _UNKNOWN):
        return judgement
    # A server that refuses every call in this way has not noticed that the tool does not exist.
    chosen = await session.choose(ordinary_arguments, ordinary_arguments, _CAN_BE_MADE)
    is_refused = isinstance(chosen, Judgement) and chosen.verdict == "inconclusive"
    return chosen if isinstance(chosen, Judgement) and is_refused else judgement


async def announced_lists(session: ProbeSession) -> Judgement:
    """Read the first page of each list that the server announces."""
    read: list[str] = []
    for method, key in LISTS:
        if key in session.server.capabilities:
            judgement = judgements.has_list(await session.ask(method, {}), method, key)
            if judgement.verdict != "passed":
                return judgement
            read.append(method)
    return passed(f"{and_list(read)} answered") if read else not_applicable("the server announces no list")


async def messages_only(session: ProbeSession) -> Judgement:
    """Judge all lines that the server has written since the run began."""
    # What the server wrote before this reply has arrived with it.
    await session.ask(session.server.always_served, {})
    for line in session.invalid_lines:
        session.note(ProbeEvidence("in the run so far", line))
    return judgements.only_messages(session.invalid_lines, session.invalid_line_count)


async def cursor_stability(session: ProbeSession) -> Judgement:
    """Read all pages of each list."""
    reasons: list[str] = []
    for method, key in LISTS:
        if key not in session.server.capabilities:
            continue
        first = await session.ask(method, {})
        if first.problem:
            return judgements.problem_of(first, f"{method}: ")
        cursor = judgements.cursor_of(first)
        if cursor is None:
            continue
        again = await session.ask(method, {})
        second = [await session.ask(method, {"cursor": cursor}) for _ in range(2)]
        pages = [first, second[0]]
        while len(pages) < _MOST_PAGES and (cursor := judgements.cursor_of(pages[-1])) is not None:
            pages.append(await session.server.ask(method, {"cursor": cursor}))
        for judgement in (
            judgements.pages_are_stable(method, (first, again), second, key),
            judgements.no_repeats(method, pages, key, _MOST_PAGES),
        ):
            if judgement.verdict != "passed":
                return judgement
        reasons.append(judgement.why)
    return (
        passed("; ".join(reasons)) if reasons else not_applicable("no list of the server has a second page")
    )


PROBES: dict[str, Probe] = {
    probe.id: probe
    for probe in (
        Probe("EDGE-001", "Unicode in arguments arrives unchanged", unicode_arguments),
        Probe("EDGE-002", "A very large argument gets a clean answer", large_input),
        Probe("EDGE-003", "Empty input is answered the same way each time", empty_input),
        Probe("EDGE-004", "Identical concurrent calls are each answered once", concurrent_calls),
        Probe("EDGE-005", "Sessions that end at once cause no problem", rapid_init),
        Probe("EDGE-006", "A call beyond the server's own limit ends in a clean error", server_timeout),
        Probe(
            "EDGE-007",
            "Answers to concurrent requests have the id of their own request",
            reply_ids,
            "MUST",
            ("http",),
        ),
        Probe(
            "EDGE-008",
            "Half a line is answered with a parse error (-32700)",
            truncated_line,
            transports=("stdio",),
        ),
        Probe(
            "EDGE-009",
            "A malformed envelope is answered with -32600",
            malformed_envelope,
        ),
        Probe("EDGE-010", "A cursor leads to the same page each time", cursor_stability),
        Probe("EDGE-101", "An empty array gets a clean answer", empty_arrays),
        Probe("EDGE-102", "An oversized message is served or refused with an error", oversized_payload),
        Probe("EDGE-103", "Arguments that the schema does not allow are refused", invalid_arguments),
        Probe("EDGE-104", "An unknown tool is refused", unknown_tool),
        Probe("EDGE-105", "A cancelled call leaves the server usable", cancelled_call),
        Probe("EDGE-106", "A list that the server announces can be read", announced_lists, "MUST"),
        # The last one, because it judges what the server wrote in the others.
        Probe("EDGE-107", "stdout has MCP messages only", messages_only, "MUST", ("stdio",)),
    )
}
