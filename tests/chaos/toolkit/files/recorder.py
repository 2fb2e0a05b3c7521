"""A control that records where it was called."""

from __future__ import annotations

from typing import Any

from shop import log  # type: ignore[import-not-found]


def configure_control(control: Any, experiment: Any, configuration: Any, secrets: Any, settings: Any) -> None:
    log("control configured")


def cleanup_control() -> None:
    log("control cleaned up")


def before_experiment_control(context: Any, **more: Any) -> None:
    log("before experiment")


def after_experiment_control(context: Any, state: Any, **more: Any) -> None:
    log(f"after experiment {state['status']}")
    state["seen_by_control"] = True


def before_hypothesis_control(context: Any, **more: Any) -> None:
    log("before hypothesis")


def before_method_control(context: Any, **more: Any) -> None:
    log("before method")


def before_rollback_control(context: Any, **more: Any) -> None:
    log("before rollback")


def before_activity_control(context: Any, **more: Any) -> None:
    log(f"before activity {context['name']}")


def after_activity_control(context: Any, state: Any, **more: Any) -> None:
    log(f"after activity {context['name']} {state['status']}")
    raise RuntimeError("a control must not fail the run")
