"""`python`: a function, in this process. One that hangs is left behind; one that raises has failed."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import shown
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.threads import in_thread
from faultkit.chaos.experiment.work.work import USUAL_LIMIT_S, Scene, json_of
from faultkit.chaos.undo import Undo

KEYS = ("function", "arguments")
FUNCTION_FORM = "a function such as my.module:is_healthy"


@dataclass(frozen=True, slots=True)
class PythonCall:
    module: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "python"
    usual_limit_s: ClassVar[float] = USUAL_LIMIT_S

    @property
    def says(self) -> str:
        return f"call {self.module}:{self.name}"

    def resolve(self, scene: Scene) -> None:
        check_arguments(find_function(self.module, self.name, scene.folder), self.arguments)

    async def perform(self, scene: Scene) -> Any:
        function = find_function(self.module, self.name, scene.folder)
        return await in_thread(lambda: call(function, self.arguments))

    async def act(self, scene: Scene) -> Any:
        return await self.perform(scene)

    def undo(self, scene: Scene, limit_s: float) -> Undo:
        data = {
            "module": self.module,
            "func": self.name,
            "arguments": dict(self.arguments),
            "path": search_path(scene.folder),
        }
        return Undo("python", data, self.says, limit_s)


def call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    answer = function(**arguments)
    return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer: Any) -> Any:
    return await answer


def search_path(folder: Path) -> list[str]:
    """Where functions are looked for, by a step and its undo: the experiment's folder behind all others."""
    return list(dict.fromkeys([*(each or os.getcwd() for each in sys.path), str(folder.absolute())]))


def find_function(module: str, name: str, folder: Path) -> Callable[..., Any]:
    place = str(folder.absolute())
    if place not in sys.path:
        # It stays there: what the function imports later is found as well.
        sys.path.append(place)
    try:
        found = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise InputError("function", f"expected {FUNCTION_FORM}, got {module}:{name}: {error}") from None
    except AttributeError:
        raise InputError("function", f'expected {FUNCTION_FORM}, but {module} has no "{name}"') from None
    except Exception as error:
        problem = f"{module} cannot be imported: {type(error).__name__}: {error}"
        raise InputError("function", problem) from None
    if not callable(found):
        raise InputError("function", f"expected a function, got {module}:{name}, which cannot be called")
    function: Callable[..., Any] = found
    return function


def check_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise InputError("arguments", f"do not fit the function: {error}") from None
    except ValueError:
        return  # Some that are written in C do not say what they take.


def parse_python(value: object, path: str, problems: list[InputError]) -> PythonCall | None:
    before = len(problems)
    reading = Reading({"function": value} if isinstance(value, str) else value, KEYS, path, problems)
    module, name = reading.need("function", read_function, ("", ""), FUNCTION_FORM)
    arguments = reading.take("arguments", read_arguments, {})
    return PythonCall(module, name, arguments) if len(problems) == before else None


def read_function(value: object) -> tuple[str, str]:
    module, colon, name = text(value).partition(":")
    if not colon:
        module, _, name = module.rpartition(".")
    if not module or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise InputError("", f"expected {FUNCTION_FORM}, got {shown(value)}")
    return module, name


def read_arguments(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError("", f"expected a mapping of names to values, got {shown(value)}")
    json_of(value)
    return dict(value)
