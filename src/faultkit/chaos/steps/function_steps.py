"""The step `python`: its keys, its work, and its builder.

It calls a function in this process: one that raises has failed, one that hangs is left behind.
"""

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

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, text
from faultkit.base.errors import InputError
from faultkit.chaos.safety.undo import Undo
from faultkit.chaos.steps.step_work import (
    ANY_MAPPING_SCHEMA,
    USUAL_STEP_LIMIT_S,
    StepContext,
    json_text,
    run_in_thread,
)

FUNCTION_FORM = "a function such as my.module:is_healthy"


def read_function(value: object) -> tuple[str, str]:
    """Return the module and the name of `module:function`. Raises InputError for anything else."""
    module, colon, name = text(value).partition(":")
    if not colon:
        module, _, name = module.rpartition(".")
    if not module or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise InputError("", f"expected {FUNCTION_FORM}, got {shown(value)}")
    return module, name


def read_arguments(value: object) -> dict[str, Any]:
    """Return keyword arguments that JSON can express. Raises InputError for anything else."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError("", f"expected a mapping of names to values, got {shown(value)}")
    json_text(value)
    return dict(value)


PYTHON = KeyTable(
    Key(
        "function",
        read_function,
        TEXT_SCHEMA,
        ("", ""),
        "module:function; it may be async. It may stand in place of the mapping.",
        FUNCTION_FORM,
    ),
    Key("arguments", read_arguments, ANY_MAPPING_SCHEMA, {}, "Its keyword arguments."),
)


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call of a function."""

    module: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "python"
    usual_limit_s: ClassVar[float] = USUAL_STEP_LIMIT_S

    @property
    def says(self) -> str:
        return f"call {self.module}:{self.name}"

    def resolve(self, context: StepContext) -> None:
        check_arguments(find_function(self.module, self.name, context.folder), self.arguments)

    async def perform(self, context: StepContext) -> Any:
        function = find_function(self.module, self.name, context.folder)
        return await run_in_thread(lambda: call_function(function, self.arguments))

    async def act(self, context: StepContext) -> Any:
        return await self.perform(context)

    def undo(self, context: StepContext, limit_s: float) -> Undo:
        data = {
            "module": self.module,
            "func": self.name,
            "arguments": dict(self.arguments),
            "path": search_path(context.folder),
        }
        return Undo("python", data, self.says, limit_s)


def call_function(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a function, plain or async, and return its result."""
    result = function(**arguments)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(awaitable: Any) -> Any:
    # asyncio.run accepts coroutines only, not every awaitable.
    return await awaitable


def search_path(folder: Path) -> list[str]:
    """Return the folders that a step and its undo import from: the experiment's folder comes last."""
    return list(dict.fromkeys([*(each or os.getcwd() for each in sys.path), str(folder.absolute())]))


def find_function(module: str, name: str, folder: Path) -> Callable[..., Any]:
    """Import a function. Raises InputError if there is none."""
    if str(folder.absolute()) not in sys.path:
        # It stays there, because the function may import more modules later.
        sys.path.append(str(folder.absolute()))
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
    """Raise InputError if the function cannot take these arguments."""
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise InputError("arguments", f"do not fit the function: {error}") from None
    except ValueError:
        return  # Some functions written in C have no signature.


def build_python(reader: MappingReader) -> PythonCall:
    """Return the work of a step `python`."""
    module, name = reader.take("function")
    return PythonCall(module, name, reader.take("arguments"))
