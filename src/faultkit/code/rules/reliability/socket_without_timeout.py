"""Finds sockets that can wait for ever to connect or to read.

Evidence that it matters: a peer on another machine is connected to, or clients of a server. Sockets of this
machine and datagrams are not reported; where the kind of network is a variable, it is `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.call_paths import is_bounded_on_all_paths
from faultkit.code.rules.vocabulary.endless_reads import endless_reads
from faultkit.code.rules.vocabulary.endless_reads_csharp import limits_of_blocking_calls
from faultkit.code.rules.vocabulary.half_limits import is_ended
from faultkit.code.rules.vocabulary.test_doubles import is_of_test_double
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CLIENTS = {
    "smtplib.SMTP": 3,
    "smtplib.SMTP_SSL": 3,
    "smtplib.LMTP": 4,
    "ftplib.FTP": 4,
    "ftplib.FTP_TLS": 5,
    "imaplib.IMAP4": 2,
    "imaplib.IMAP4_SSL": 3,
    "poplib.POP3": 2,
    "poplib.POP3_SSL": 3,
    "telnetlib.Telnet": 2,
    "http.client.HTTPConnection": 2,
    "http.client.HTTPSConnection": 2,
}
"""Clients of Python's standard library, with the index of their timeout: without one they wait for ever."""
_SERVES = ("net/http.ListenAndServe", "net/http.ListenAndServeTLS", "net/http.Serve", "net/http.ServeTLS")
_OF_SERVERS = ("ReadTimeout", "ReadHeaderTimeout")
_BOUNDED = ("settimeout", "setblocking", "setSoTimeout", "setTimeout", "SetDeadline", "SetReadDeadline")


_LOCAL = lazy_regex(
    r"AF_UNIX|Loopback|localhost|127\.0\.0\.1|[\"'`](?:unix|udp|ip\d?:)|\bpath:|\.sock\b|[sS]ocket_?[pP]ath"
    r"|AddressFamily\.Unix|UnixDomainSocket|UnixStream"
)
"""Sockets of this machine."""
_INSIDE = lazy_regex(r"localhost|127\.0\.0\.1|pprof", re.IGNORECASE)
"""Servers for those who run the program."""


_LIMITED = lazy_regex(
    r"\.listen\(\s*[\w.]*[pP]ath|\.sock\b|\bpipe\\|[sS]ocket\.setTimeout\(|\.setTimeout\(\s*[\w.]"
)
"""A server of this machine alone, or one that sets a limit."""
_ENDED_BY_TIMER = TextPattern(
    r"\bsetTimeout\([^;]{0,200}?\b(?:destroy|destroySoon|end|abort|reject|close|terminate|fail|finish)\w*\(|AbortSignal"
)
"""JavaScript: a timer that ends what is waited for."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call in _connecting(facts):
        connection = call.origin or call
        scope = facts.named_function_of(call) if facts.language == "csharp" else None
        spans = (connection.span, call.span) if scope is None else (scope.span,)
        if any(_LOCAL.search(facts.text(span)) for span in spans):
            continue
        if _LOCAL.search(facts.text_with_values(call)):
            continue
        bounded = (facts.language not in JAVASCRIPT and call.method != "settimeout") and any(
            each.method in _BOUNDED for each in (*facts.calls_on(connection), *facts.calls_on(call))
        )
        if _is_local_path(call, facts) or is_of_test_double(call, facts):
            continue
        if bounded or is_bounded_on_all_paths(call, facts) or facts.calls_named("socket.setdefaulttimeout"):
            continue
        is_unknown = call.name == "net.Dial" and not _names_tcp(call, facts)
        sure = POSSIBLE if is_unknown or _is_handed_out(call, facts) else LIKELY
        yield Hit(call.span, f"{call.written}() has no timeout", sure)
    if facts.language == "go":
        yield from _servers(facts)
    servers = facts.calls_named("net.createServer", "tls.createServer")
    if servers and facts.language in JAVASCRIPT and not _LIMITED.search(facts.whole_text):
        for call in servers:
            if _finds_port(call, facts):
                continue
            what = f"{call.written}() sets no timeout: a peer that falls silent keeps its socket for ever"
            yield Hit(call.span, what, LIKELY, "medium")
    for span, what in (*_by_settings(facts), *_not_noticed(facts), *limits_of_blocking_calls(facts)):
        yield Hit(span, what, LIKELY)
    for call in endless_reads(facts):
        what = f"{call.written}() has no limit: a peer that falls silent is waited for"
        if call.method == "accept":
            what = (
                f"reads of what {call.written}() gives have no limit: a peer that falls silent is waited for"
            )
        yield Hit(call.span, what, LIKELY, "medium")


def _is_handed_out(call: Call, facts: Facts) -> bool:
    """Return whether a function of Node gives its socket to its caller, who can set the limit."""
    scope = facts.named_function_of(call)
    if facts.language not in JAVASCRIPT or scope is None:
        return False
    if call.is_returned:
        return True
    names = {*call.assigned}
    names |= {
        name
        for each in facts.within(facts.calls, scope.body)
        if each.constructs and any(one.value.text in names for one in each.arguments)
        for name in each.assigned
    }
    return any(
        step.kind == "return" and step.text.strip().rstrip(";").replace("this.", "self.") in names
        for step in facts.within(facts.steps, scope.body)
    ) or any(
        one.value.text.replace("this.", "self.") in names or one.value.text in names
        for each in facts.within(facts.calls_of_method("resolve"), scope.body)
        for one in each.positional
    )


_PATH = lazy_regex(r"\w*(?:[pP]ath|[sS]ock|[pP]ipe|[fF]ile)\w*$")


def _is_local_path(call: Call, facts: Facts) -> bool:
    """Return whether Node connects to a file of this machine: `net.connect(socketPath)`."""
    first = call.argument(place=0)
    return (
        facts.language in JAVASCRIPT and first is not None and _PATH.fullmatch(first.value.text) is not None
    )


def _names_tcp(call: Call, facts: Facts) -> bool:
    """Return whether the network of a dial of Go is TCP: a literal, or a constant of this text."""
    first = call.argument(place=0)
    if first is None:
        return False
    if first.value.shape == "text":
        return True
    return any(
        each.value is not None and "tcp" in each.value.text
        for each in facts.assignments_to(first.value.text, call)
    )


def _finds_port(call: Call, facts: Facts) -> bool:
    """Return whether a server only finds a free port, and is closed as soon as it listens."""
    scope = facts.named_function_of(call)
    text = "" if scope is None else facts.text(scope.span)
    return re.search(r"\.listen\(\s*(?:\{\s*port:\s*)?0\b", text) is not None and ".close(" in text


def _servers(facts: Facts) -> Iterator[Hit]:
    mild: Severity = "medium"
    for call in facts.calls_named(*_SERVES):
        if _INSIDE.search(facts.text(call.span)) or _is_for_operators(call, facts):
            continue
        what = f"{call.written}() sets no timeouts: a client that never ends its request is waited for"
        yield Hit(call.span, what, LIKELY, mild)
    for call in facts.calls_named("net/http.Server"):
        later = {f"{name}.{each}" for name in call.assigned for each in _OF_SERVERS}
        if (
            call.has(*_OF_SERVERS)
            or _is_for_operators(call, facts)
            or not later.isdisjoint(facts.assigned_names)
        ):
            continue
        what = f"{call.written} has no ReadHeaderTimeout: a client that never ends its request is waited for"
        yield Hit(call.callee, what, LIKELY, mild)


_OPERATORS = lazy_regex(r"pprof|profil|debug|playground", re.IGNORECASE)


def _is_for_operators(call: Call, facts: Facts) -> bool:
    """Return whether a server of Go is for those who run the program, by its function or handlers."""
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    if _OPERATORS.search(scope.short_name):
        return True
    handler = call.argument("Handler")
    name = "" if handler is None else handler.value.text
    made = [each.span.start for each in facts.assignments_to(name, call) if each.span.end <= call.span.start]
    return any(
        each.receiver_written == name and _OPERATORS.search(facts.text(each.span))
        for each in facts.within(facts.calls, Span(max(made, default=call.span.start), call.span.start))
    )


def _connecting(facts: Facts) -> Iterator[Call]:
    connects = facts.calls_named("socket.create_connection")
    bounded_functions = {facts.function_of(call) for call in connects if _has_timeout(call, 1)}
    for call in connects:
        if not _has_timeout(call, 1) and facts.function_of(call) not in bounded_functions:
            yield call
    for call in facts.calls_named(*_CLIENTS):
        # Without a host it does not connect yet.
        if call.arguments and not _has_timeout(call, _CLIENTS[call.name]):
            yield call
    yield from facts.calls_named("socket.socket().connect", "socket.socket.connect", "net.Dial")
    yield from facts.calls_named("net/smtp.SendMail", "net/smtp.Dial")
    yield from _directories(facts)
    if facts.language in ("java", "kotlin"):
        yield from (call for call in facts.calls_named("java.net.Socket") if len(call.positional) >= 2)
        for call in facts.calls_named("java.net.Socket.connect"):
            if len(call.positional) == 1:
                yield call
        yield from _of_java(facts)
    if facts.language == "rust":
        yield from (
            call
            for call in facts.calls_named("tokio.net.TcpStream.connect", "tokio_tungstenite.connect_async")
            if call.is_awaited and not _has_endpoint_limit(call, facts)
        )
        for call in facts.calls_named("std.net.TcpStream.connect"):
            if not any(each.method in _RUST_LIMITS for each in facts.calls):
                yield call
    if facts.language == "csharp":
        yield from _csharp(facts)
    if facts.language == "python":
        yield from facts.calls_named("asyncio.open_connection")
        yield from _of_sockets(facts)
    if facts.language in JAVASCRIPT:
        yield from _node(facts)


def _has_endpoint_limit(call: Call, facts: Facts) -> bool:
    """Return whether the endpoint around a connector of tonic limits how long connecting may take (Rust)."""
    return any(
        each.method == "connect_timeout"
        for scope in facts.functions_around(call)
        for each in facts.within(facts.calls, scope.body)
    )


def _node(facts: Facts) -> Iterator[Call]:
    """Yield sockets of Node that nothing ends: when the time is over, they only say so."""
    opened = facts.calls_named("net.connect", "net.createConnection", "tls.connect")
    if not opened or _ENDED_BY_TIMER.search(facts.whole_text):
        return
    for call in opened:
        limited = call.has("timeout") or any(each.method == "setTimeout" for each in facts.calls_on(call))
        if not limited or not is_ended(facts):
            yield call


_NOTICED_BY = {
    "pika.ConnectionParameters": ("heartbeat",),
    "aio_pika.connect": ("heartbeat",),
    "aio_pika.connect_robust": ("heartbeat",),
    "websockets.connect": ("ping_interval", "ping_timeout"),
    "websockets.client.connect": ("ping_interval", "ping_timeout"),
    "websockets.asyncio.client.connect": ("ping_interval", "ping_timeout"),
    "botocore.config.Config": ("read_timeout",),
}
"""Settings by which a client notices that the other side is gone; None or 0 switches them off."""


def _not_noticed(facts: Facts) -> Iterator[tuple[Span, str]]:
    for call in facts.calls_named(*_NOTICED_BY):
        given = next((each for each in call.arguments if each.name in _NOTICED_BY[call.name]), None)
        if given is not None and given.value.text in ("None", "0") and not facts.comment_at(call):
            what = f"{given.name}={given.value.text}: that the other side is gone is never noticed"
            yield call.span, what


_SERIAL = ("serial.Serial", "serial.serial_for_url")


def _of_sockets(facts: Facts) -> Iterator[Call]:
    """Yield waits of Python's sockets and serial ports for what may never come."""
    for call in facts.calls_named(*_SERIAL):
        if not call.has("timeout") and not call.spreads and call.arguments:
            yield call
    for call in facts.calls_named("socket.socket.settimeout", "socket.create_connection().settimeout"):
        given = call.argument(place=0)
        if given is not None and given.value.shape == "none" and not facts.comment_at(call):
            yield call
    if facts.syntax.has_any(b"settimeout", b"setblocking", b"rcvtimeo", b"keepalive", b"select"):
        return
    yield from facts.calls_named("ssl.create_default_context().wrap_socket().connect")
    for call in facts.calls_of_method("recvfrom", "recv"):
        # An answer to a datagram; one of the two may be lost.
        made, scope = call.origin, facts.named_function_of(call)
        if made is None or scope is None or "SOCK_DGRAM" not in facts.text(made.span):
            continue
        sent = facts.within(facts.calls_of_method("sendto", "send"), scope.body)
        if any(each.origin is made and each.span.start < call.span.start for each in sent):
            yield call
    yield from _served(facts)
    if facts.imports_any("zmq") and not facts.syntax.has_any(b"poll"):
        yield from _replies(facts)


def _replies(facts: Facts) -> Iterator[Call]:
    """Yield receives of ZeroMQ in functions that have sent a request, whose answer may be lost."""
    for call in facts.calls_of_method("recv", "recv_json", "recv_string", "recv_pyobj", "recv_multipart"):
        scope = facts.named_function_of(call)
        sent = () if scope is None else facts.within(facts.calls, scope.body)
        if any(
            each.receiver_written == call.receiver_written and each.method.startswith("send")
            for each in sent
            if each.span.start < call.span.start
        ):
            yield call


def _served(facts: Facts) -> Iterator[Call]:
    """Yield the first read of each handler of `socketserver` whose class sets no `timeout`."""
    for name, bases in facts.classes.items():
        if not any(base.endswith(("StreamRequestHandler", "BaseRequestHandler")) for base in bases):
            continue
        if any(each.owner == name and each.targets == ("timeout",) for each in facts.assignments):
            continue
        for call in facts.calls_of_method("readline", "read", "recv"):
            scope = facts.named_function_of(call)
            if scope is not None and scope.owner == name and _OF_HANDLER.match(call.written):
                yield call
                break


_OF_HANDLER = lazy_regex(r"^self\.(?:rfile|request|connection)\.")


def _directories(facts: Facts) -> Iterator[Call]:
    """Yield clients of LDAP and SSH in Python that wait for as long as the other side does not answer."""
    made = facts.calls_named("ldap.initialize")
    if made and not any(word in facts.whole_text for word in ("OPT_NETWORK_TIMEOUT", "network_timeout")):
        yield from made
    for call in facts.calls_named("ldap3.Connection"):
        if not call.has("receive_timeout") and not call.spreads:
            yield call
    for call in facts.calls_named("paramiko.SSHClient.connect"):
        if not call.has("timeout") and not call.spreads:
            yield call
    if b"settimeout" not in facts.syntax.source:
        for call in facts.calls_named("paramiko.SSHClient.exec_command"):
            # The timeout is the third parameter, and holds for each read of the output.
            if not call.has("timeout") and not call.spreads and len(call.positional) < 3:
                yield call
        # A limit of connecting is none of the files that follow it.
        yield from facts.calls_named(*_SFTP)
    for call in facts.calls_named("xmlrpc.client.ServerProxy", "websocket.create_connection"):
        if not call.has("timeout", "transport") and not call.spreads and len(call.positional) < 2:
            yield call
    for call in facts.calls_named("golang.org/x/crypto/ssh.ClientConfig"):
        later = {f"{name}.Timeout" for name in call.assigned}
        if not call.has("Timeout") and later.isdisjoint(facts.assigned_names):
            yield call
    for call in facts.calls_named("ldapjs.createClient"):
        if not call.has("timeout") and not call.spreads and call.arguments:
            yield call


_SFTP = (
    "paramiko.SSHClient.open_sftp",
    "paramiko.SFTPClient.from_transport",
    "paramiko.Transport.open_sftp_client",
)
_OF_TEXT = (
    (
        lazy_regex(r"new\s+Initial(?:Ldap|Dir)Context\(|InitialDirContext\(env"),
        "ldap.read.timeout",
        b"jndi.ldap",
    ),
    (
        lazy_regex(r"\.put\(\s*\"com\.sun\.(?:xml\.)?(?:internal\.)?ws\.connect\.timeout\""),
        "request.timeout",
        b"connect.timeout",
    ),
)
"""Java: what is opened, the setting that limits its answers, and a word without which it is not there."""


def _by_settings(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield directories and services of Java whose settings have no limit for an answer."""
    for opened, setting, word in _OF_TEXT if facts.language in ("java", "kotlin") else ():
        if word not in facts.syntax.source or setting in facts.whole_text:
            continue
        found = opened.search(facts.whole_text)
        if found is not None:
            yield (
                facts.syntax.place_of(found),
                f"{setting} is not set: an answer is waited for without a limit",
            )


_JAVA_CLIENTS = {
    "com.jcraft.jsch.Session.connect": ("setTimeout", "connect"),
    "com.jcraft.jsch.JSch.getSession().connect": ("setTimeout", "connect"),
    "org.apache.commons.net.ftp.FTPClient.connect": ("setDefaultTimeout", "setSoTimeout", "setDataTimeout"),
    "org.apache.commons.net.ftp.FTPSClient.connect": ("setDefaultTimeout", "setSoTimeout", "setDataTimeout"),
}
"""Clients of SSH and FTP that wait for ever, and what limits them: a `connect` with an argument, too."""


def _of_java(facts: Facts) -> Iterator[Call]:
    for call in facts.calls_of_method("connect"):
        limits = _JAVA_CLIENTS.get(call.name)
        if limits is None or (call.arguments and "connect" in limits):
            continue
        if not facts.calls_of_method(*(each for each in limits if each != "connect")):
            yield call


_CSHARP_CONNECTS = ("TcpClient.ConnectAsync", "TcpClient.Connect", "Socket.ConnectAsync", "Socket.Connect")
_TOKEN = lazy_regex(r"\b(ct|cts?\.Token|\w*[tT]oken)$")
_RUST_LIMITS = ("set_read_timeout", "set_nonblocking", "connect_timeout")


def _csharp(facts: Facts) -> Iterator[Call]:
    """Yield connects of TcpClient and Socket that are given no token, in a text that sets no limit."""
    reads = facts.calls_of_method("ReadLine", "ReadByte", "Read", "ReadTo", "ReadChar")
    if reads and b"ReadTimeout" not in facts.syntax.source:
        yield from (call for call in facts.calls_named("SerialPort") if call.constructs)
    for call in facts.calls_named("NamedPipeClientStream.Connect", "NamedPipeClientStream.ConnectAsync"):
        if not call.arguments:
            yield call
    for call in facts.calls_named("TcpClient", *_CSHARP_CONNECTS):
        if call.name == "TcpClient" and (len(call.positional) != 2 or not call.constructs):
            continue
        # `ConnectAsync(host, port, limit.Token)`
        is_limited = any(_TOKEN.search(each.value.text) for each in call.arguments)
        if not is_limited and not re.search(r"CancelAfter|WaitAsync\(|WhenAny\(|Timeout", facts.whole_text):
            yield call


def _has_timeout(call: Call, place: int) -> bool:
    return call.has("timeout") or call.argument(place=place) is not None or call.spreads


RULE = Rule(
    id="FK-R003",
    slug="socket-without-timeout",
    title="Socket without a timeout",
    why="A host that drops packets leaves the connect or read waiting for minutes, or for ever.",
    fix="Pass a timeout to the connect, or set one on the socket before using it.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
