"""The scripted provider of tests/llm, for all tests of advice."""

from __future__ import annotations

from tests.llm.conftest import clock, open_model, server

__all__ = ["clock", "open_model", "server"]
