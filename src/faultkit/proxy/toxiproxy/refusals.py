"""What the API says when it does not do as it was told, in the words that clients look for."""

from __future__ import annotations


class Refusal(Exception):
    """An answer other than success. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def document(self) -> dict[str, object]:
        """Clients of version 2 read `error`, older ones read `title`."""
        return {"error": self.message, "title": self.message, "status": self.status}


def bad_body(problem: object) -> Refusal:
    return Refusal(400, f"bad request body: {problem}")


def missing_field(name: str) -> Refusal:
    return Refusal(400, f"missing required field: {name}")


def proxy_not_found() -> Refusal:
    return Refusal(404, "proxy not found")


def proxy_exists() -> Refusal:
    return Refusal(409, "proxy already exists")


def toxic_not_found() -> Refusal:
    return Refusal(404, "toxic not found")


def toxic_exists() -> Refusal:
    return Refusal(409, "toxic already exists")


def invalid_stream() -> Refusal:
    return Refusal(400, "stream was invalid, can be either upstream or downstream")


def invalid_type() -> Refusal:
    return Refusal(400, "invalid toxic type")
