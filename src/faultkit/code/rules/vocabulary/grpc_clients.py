"""Calls that make a client or channel of gRPC, with a connection of its own.

A stub of Java, Go or C# that is given a channel is a view of it, and no client of its own.
"""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_JVM = NamePattern(
    r"(^|\.)((ManagedChannel|NettyChannel|OkHttpChannel)Builder\.for\w+\(\).*\.build|Grpc\.newChannel\w+\(\).*\.build)$"
)
_NAMES = {
    "python": NamePattern(r"^grpc\.(aio\.)?(insecure|secure)_channel$"),
    "go": NamePattern(r"^google\.golang\.org/grpc\.(NewClient|Dial|DialContext)$"),
    "java": _JVM,
    "kotlin": _JVM,
    "csharp": NamePattern(r"(^|\.)GrpcChannel\.ForAddress$"),
    "rust": NamePattern(
        r"^((\w+\.)*\w+_client\.\w+Client\.connect|tonic\.transport\.(Channel|Endpoint)\b.*\.connect)$"
    ),
}
_LIBRARIES = ("@grpc/grpc-js", "grpc", "nice-grpc")
_CREDENTIALS = lazy_regex(r"[cC]redentials\.create")
WORDS = (b"grpc", b"Grpc", b"Channel", b"redentials.create", b"_client::", b"tonic")
"""Words of which one stands in each text that makes a client of gRPC."""


def is_grpc_client(call: Call, facts: Facts) -> bool:
    """Return whether a call makes a client or channel of gRPC."""
    if facts.syntax.language.family == "javascript":
        return _is_of_script(call, facts)
    pattern = _NAMES.get(facts.language)
    return pattern is not None and pattern.search(call.name) is not None


def _is_of_script(call: Call, facts: Facts) -> bool:
    """Return whether a client is given credentials, or a library of gRPC makes a channel (JavaScript)."""
    if call.method == "createChannel":
        return facts.imports_any(*_LIBRARIES)
    if not call.constructs or len(call.positional) < 2:
        return False
    given = call.positional[1].value.text
    if call.method.endswith("Client") and _CREDENTIALS.search(given):
        return True
    return "redentials" in given and facts.imports_any(*_LIBRARIES)
