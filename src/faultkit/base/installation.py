"""What is installed of the table of packages (`base.extras`), and what a user is told about the rest.

An import of an optional package needs no guard of its own: where a command or a tool of an agent ends with an
ImportError, `explain_import` turns it into one line that names the extra and the command that installs it, by
pip, pipx or uv. `require_extra` says the same beforehand, where the import happens in another process or
behind a library. Import this module when a user is to be told: it takes tens of milliseconds.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from faultkit.base.errors import InputError
from faultkit.base.extras import EXTRAS, Extra, Package, owner_of, packages_of

NAME = "faultkit"
Installer = Literal["pip", "pipx", "uv", "uv tool"]


class MissingExtra(InputError):
    """A package that a command needs is not installed, or not in a version that fits."""


def explain_import(error: ImportError, who: str, whole: str = "") -> MissingExtra | None:
    """Return the error for a user whose command ended with this one; None if Faultkit has all it needs.

    who:   the command or tool that needed the package
    whole: the extra that brings all that it needs, to be named if the package is a part of it"""
    known = owner_of(error.name or "")
    if known is None:
        return None
    package, extra = known
    if extra is not None and whole and package in packages_of(whole):
        extra = EXTRAS[whole]
    version = installed_version(package)
    if version and not package.accepts(version):
        return _missing(package, extra, who, version)
    return None if is_installed(package) else _missing(package, extra, who)


def require_extra(name: str, who: str) -> None:
    """Raise MissingExtra if a package of the extra is not installed.

    who: the command or thing that needs it"""
    for package in EXTRAS[name].packages:
        if is_lacking(package):
            raise _missing(package, EXTRAS[name], who)


def _missing(package: Package, extra: Extra | None, who: str, version: str = "") -> MissingExtra:
    if version:
        needs = f"{package.name} {package.wanted}, got {version}"
    elif extra is None:
        needs = f"{package.name}, which is not installed"
    else:
        needs = f'the extra "{extra.name}" ({extra.purpose}), which is not installed'
    command = install_command("" if extra is None else extra.name)
    return MissingExtra("", f"{who} needs {needs}: {command}")


def is_installed(package: Package) -> bool:
    """Return whether the modules of a package can be imported, without importing them."""
    return all(_is_there(module) for module in package.modules)


def is_lacking(package: Package) -> bool:
    """Return whether a package is not installed, though this version of Python needs it."""
    return package.is_for(sys.version_info) and not is_installed(package)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def installed_version(package: Package) -> str | None:
    """Return the version of a package; None if it is not installed or does not tell."""
    try:
        return metadata.version(package.name)
    except metadata.PackageNotFoundError:
        return None


def is_complete(extra: str) -> bool:
    """Return whether all packages of an extra are installed."""
    return not any(is_lacking(package) for package in packages_of(extra))


def installer(prefix: Path | None = None) -> Installer:
    """Return the program that manages an environment: by default, the one that runs this."""
    folder = prefix or Path(sys.prefix)
    if (folder / "pipx_metadata.json").exists():
        return "pipx"
    if (folder / "uv-receipt.toml").exists():
        return "uv tool"
    try:
        settings = (folder / "pyvenv.cfg").read_text("utf-8")
    except OSError:
        return "pip"
    names = {line.partition("=")[0].strip() for line in settings.splitlines()}
    return "uv" if "uv" in names else "pip"


def install_command(
    extra: str = "",
    *,
    by: Installer | None = None,
    source: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Return the command that installs an extra beside what is there; without a name, the core.

    by, source, env: how and from where Faultkit was installed, and the environment; as found by default"""
    by = by or installer()
    # pipx and `uv tool` replace the whole environment, so the extras that are there must be named again.
    names = [*_complete_extras(), extra] if by in ("pipx", "uv tool") else [extra]
    chosen = ",".join(dict.fromkeys(name for name in names if name))
    what = _requirement(f"[{chosen}]" if chosen else "", _source() if source is None else source)
    is_active = _is_active(os.environ if env is None else env)
    python = shlex.quote(sys.executable)
    match by:
        case "pipx":
            return f"pipx install --force {what}"
        case "uv tool":
            return f"uv tool install --force {what}"
        case "uv":
            return f"uv pip install {what}" if is_active else f"uv pip install --python {python} {what}"
        case "pip":
            return f"pip install {what}" if is_active else f"{python} -m pip install {what}"


def _complete_extras() -> Iterator[str]:
    """Yield the names of complete extras, without those that others of them include."""
    complete = [name for name, extra in EXTRAS.items() if is_complete(name)]
    included = {each for name in complete for each in EXTRAS[name].includes}
    return (name for name in complete if name not in included)


def _is_active(env: Mapping[str, str]) -> bool:
    """Return whether a plain `pip` would install here: no other environment stands before this one."""
    active = env.get("VIRTUAL_ENV")
    if active:
        return os.path.realpath(active) == os.path.realpath(sys.prefix)
    return sys.prefix == sys.base_prefix


def _source() -> Mapping[str, object]:
    """Return the source of an installation that is not from a registry (PEP 610), else an empty mapping."""
    try:
        written = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return {}
    found = json.loads(written) if written else {}
    return found if isinstance(found, dict) else {}


def _requirement(extras: str, source: Mapping[str, object]) -> str:
    """Return what to install, quoted for a shell."""
    url = str(source.get("url", ""))
    folder, repository = source.get("dir_info"), source.get("vcs_info")
    if isinstance(folder, dict):
        where = shlex.quote(unquote(urlsplit(url).path) + extras)
        return f"-e {where}" if folder.get("editable") else where
    if isinstance(repository, dict):
        revision = repository.get("requested_revision")
        at = f"@{revision}" if revision else ""
        below = f"#subdirectory={source['subdirectory']}" if source.get("subdirectory") else ""
        return shlex.quote(f"{NAME}{extras} @ {repository.get('vcs', 'git')}+{url}{at}{below}")
    # The brackets mean something to some shells.
    return shlex.quote(f"{NAME}{extras} @ {url}") if url else shlex.quote(f"{NAME}{extras}")
