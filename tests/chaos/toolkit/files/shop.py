"""A system for Chaos Toolkit files to break. Its state is a file, because each run has its own process."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


def _file() -> Path:
    return Path(os.environ["SHOP_STATE"])


def _log(text: str) -> None:
    with _file().with_suffix(".log").open("a") as log:
        log.write(text + "\n")


def read(key: str = "healthy") -> Any:
    return json.loads(_file().read_text()).get(key)


def write(key: str, value: Any) -> str:
    state = json.loads(_file().read_text())
    state[key] = value
    _file().write_text(json.dumps(state))
    _log(f"write {key} {value}")
    return f"{key} is {value}"


def log(text: str) -> str:
    _log(text)
    return text


def number() -> float:
    return 3


def text() -> str:
    return "all is well"


def document() -> dict[str, Any]:
    return {"status": 200, "items": [{"n": 1}, {"n": 2}]}


def fail(why: str = "it broke") -> None:
    _log("fail")
    raise RuntimeError(why)


def linger(seconds: float) -> None:
    _log("linger")
    time.sleep(seconds)


def is_three(value: Any = None) -> bool:
    return bool(value == 3)


def with_configuration(configuration: dict[str, Any], secrets: dict[str, Any], given: str) -> list[Any]:
    return [given, configuration["place"], secrets["token"]]


def leave_ungracefully() -> None:
    from chaoslib.exit import exit_ungracefully

    exit_ungracefully()
    time.sleep(5)
