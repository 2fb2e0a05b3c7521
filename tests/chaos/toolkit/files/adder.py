"""A control that adds entries of its own to the lists of the journal, as those of chaoslib's tests do."""

from __future__ import annotations

from typing import Any


def after_method_control(context: Any, state: list[Any], **kwargs: Any) -> None:
    state.append("after_method_control")


def after_rollback_control(context: Any, state: list[Any], **kwargs: Any) -> None:
    state.append("after_rollback_control")


def after_hypothesis_control(context: Any, state: dict[str, Any], **kwargs: Any) -> None:
    state["after_hypothesis_control"] = True
