"""Names and numbers of the error codes of HTTP/2 and of the status codes of gRPC."""

from __future__ import annotations

from collections.abc import Mapping

HTTP_2_CODES: dict[str, int] = {
    name: number
    for number, name in enumerate(
        (
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        )
    )
}
"""RFC 9113 §7."""

GRPC_CODES: dict[str, int] = {
    name: number
    for number, name in enumerate(
        (
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        )
    )
}

_MOST = 2**32 - 1
"""The largest error code that a frame has room for."""


def code_number(field: str, text: str, names: Mapping[str, int]) -> int:
    """Return the number of a code that is written as a name or a number. Raises ValueError naming `field`.

    Numbers without a name are allowed, because a peer may get any."""
    number = names.get(text.upper().replace("-", "_"))
    if number is None and text.isascii() and text.isdigit() and int(text) <= _MOST:
        number = int(text)
    if number is None:
        known = ", ".join(names)
        raise ValueError(f"{field}: expected a number or one of {known}, got {text!r}")
    return number


def code_name(number: int, names: Mapping[str, int]) -> str:
    """Return the name of a code, or its number if it has none."""
    return next((name for name, each in names.items() if each == number), str(number))
