"""Failed accepts are counted, and logged once."""

from __future__ import annotations

import asyncio
import errno
import os

import pytest

from faultkit.base.http.accept_errors import AcceptErrors, handle_accept_errors


def test_a_thousand_failed_accepts_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    try:
        handle_accept_errors(loop)
        error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        for _ in range(1000):
            loop.call_exception_handler(
                {"message": "socket.accept() out of system resource", "exception": error}
            )
        handler = loop.get_exception_handler()
        assert isinstance(handler, AcceptErrors)
        assert handler.count == 1000
        assert caplog.messages == ["new connections wait: too many open files (1 attempts to accept failed)"]
        loop.call_exception_handler({"message": "something else"})
        assert caplog.messages[1:] == ["something else"]
    finally:
        loop.close()


def test_a_handler_that_a_loop_has_is_kept() -> None:
    loop = asyncio.new_event_loop()
    try:
        own = AcceptErrors()
        loop.set_exception_handler(own)
        handle_accept_errors(loop)
        assert loop.get_exception_handler() is own
    finally:
        loop.close()


def test_asyncio_still_has_the_message_that_is_looked_for() -> None:
    import inspect
    from asyncio import selector_events

    assert "'socket.accept() out of system resource'" in inspect.getsource(selector_events)
