"""Compiles the hot paths of the proxy and of the load engine (`_native*.c`) while a wheel is built.

They are optional. Where they cannot be compiled, one line says so, the wheel holds Python only, and all
works, more slowly. One extension serves every CPython from 3.11 (its stable ABI).
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EXTENSION = "_native.abi3.so"
EXTENSIONS = {
    "proxy": ("_native.c", "_native_sockets.c", "_native_tls.c", "_native_link.c"),
    "load": ("_native.c",),
}
"""The packages of faultkit that have one, with its sources."""
_LIMIT_S = 120


class NativeBuildHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile beside the source for an editable installation, otherwise into the wheel."""
        if self.target_name != "wheel":
            return
        for package in EXTENSIONS:
            folder = Path(self.root, "src/faultkit", package)
            if version == "editable":
                self._compile(package, folder, folder / EXTENSION)
            else:
                self._add_to_wheel(package, folder, build_data)

    def _add_to_wheel(self, package: str, folder: Path, build_data: dict[str, Any]) -> None:
        built = Path(self._new_folder(), EXTENSION)
        if self._compile(package, folder, built):
            build_data["force_include"][str(built)] = f"faultkit/{package}/{EXTENSION}"
            build_data["pure_python"] = False
            machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"cp311-abi3-{machine}"

    def _new_folder(self) -> str:
        """Return a folder that is removed with this object."""
        folder = tempfile.TemporaryDirectory()
        self._folders = [*getattr(self, "_folders", []), folder]
        return folder.name

    def _compile(self, package: str, folder: Path, built: Path) -> bool:
        why_not = compile_native(folder, EXTENSIONS[package], built)
        if why_not is not None:
            self.app.display_warning(f"faultkit: the hot paths of {package} stay Python: {why_not}")
        return why_not is None


def compile_native(folder: Path, names: Sequence[str], built: Path) -> str | None:
    """Compile, unless it is done already. Returns why it was not possible, in one line, or None."""
    if sys.platform != "linux" or platform.python_implementation() != "CPython":
        return "they are written for CPython on Linux"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "a Python without the global lock has no stable ABI"
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        return "the header files of Python are not installed"
    sources = [folder / name for name in names]
    read = [*sources, *folder.glob("_native*.[ch]")]  # Some are included by others.
    if built.exists() and built.stat().st_mtime >= max(source.stat().st_mtime for source in read):
        return None
    fresh = built.with_name(f".{os.getpid()}-{built.name}")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    command = [
        *compiler,
        "-O2",
        "-fPIC",
        "-shared",
        f"-I{include}",
        *map(str, sources),
        "-o",
        str(fresh),
        "-lm",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        if done.returncode != 0:
            return f"{compiler[0]}: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}"
        fresh.replace(built)  # At once: another installation may be compiling, too.
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{compiler[0]}: {getattr(error, 'strerror', None) or error}"
    finally:
        fresh.unlink(missing_ok=True)
    return None
