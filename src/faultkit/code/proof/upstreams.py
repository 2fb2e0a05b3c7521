"""What a project reads its upstreams from: variables of the environment, with defaults in the code or in an
.env file, and URLs in its texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faultkit.base.errors import InputError
from faultkit.code.proof.service import Upstream

MOST_FILES = 200
URL = re.compile(r"https?://[^/\s\"'`?#{}]+")
_NAMES_A_URL = re.compile(
    r"(URL|URI|BASE|ENDPOINT|HOST|ORIGIN|UPSTREAM|API)(_|$)|_(URL|URI)\b", re.IGNORECASE
)
_OTHER_PROTOCOL = re.compile(
    r"DATABASE|POSTGRES|MYSQL|MARIADB|MONGO|REDIS|MEMCACHE|AMQP|RABBIT|KAFKA|NATS|CELERY|BROKER|SMTP|LDAP|DSN|"
    r"^(DB|PG)_|^HOST$|^(BIND|LISTEN|SERVER)_",
    re.IGNORECASE,
)
"""Variables without a default that are no upstream of HTTP."""
_NO_UPSTREAM = re.compile(r"//(www\.)?(w3|schema|json-schema|openapis)\.org$")
"""Hosts in texts that name a format."""
_DOTENV = (".env", ".env.local", ".env.example")
_ROOT = (".git", "pyproject.toml", "package.json")
"""Files and folders in the main folder of a project."""


@dataclass
class Reads:
    """The variables that a project reads, and the URLs in its texts."""

    defaults: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By variable: its default, empty if it has none, and the file that reads it."""
    urls: dict[str, str] = field(default_factory=dict)
    """By beginning of a URL: the file."""

    def add(self, variable: str, default: str, where: str) -> None:
        """Add a variable; a default that is known stays."""
        if not self.defaults.get(variable, ("", ""))[0]:
            self.defaults[variable] = (default, where)

    def add_url(self, text: str, where: str) -> None:
        """Add the beginning of a URL, unless its host names a format."""
        found = URL.match(text)
        if found is not None and not _NO_UPSTREAM.search(found[0]):
            self.urls.setdefault(found[0], where)

    def chosen(self, written: Mapping[str, str], named: Collection[str]) -> dict[str, Upstream]:
        """Return the upstreams to break, by name: the variables that hold URLs, and those that the user has
        named. Without any, they are the URLs in the text.

        written: defaults of the project's .env file"""
        found = {}
        for name, (default, where) in self.defaults.items():
            value = default or written.get(name, "")
            is_url = URL.match(value) or (
                not value and _NAMES_A_URL.search(name) and not _OTHER_PROTOCOL.search(name)
            )
            if is_url or name in named:
                found[name] = Upstream(name, value if is_url else "", where)
        in_text = {url: Upstream(url, url, where) for url, where in self.urls.items()}
        found |= {name: each for name, each in in_text.items() if name in named}
        return found or in_text


def chosen_upstreams(
    versions: Sequence[Reads], folder: Path, named: Collection[str], file: str, example: str
) -> tuple[Upstream, ...]:
    """Return the upstreams of all versions of a service in a folder, the first one first. Raises InputError
    if there are none, or none of a name that the user has given.

    example: how the language of the service reads a variable

    URLs in the text that only later versions have are upstreams, too: they belong to the change."""
    written = dotenv_values(folder)
    found: dict[str, Upstream] = {}
    for reads in versions:
        found = {**reads.chosen(written, named), **found}
        defaults = {start[0] for each in found.values() if (start := URL.match(each.default))}
        added = reads.urls.keys() - versions[0].urls.keys() - defaults
        found |= {url: Upstream(url, url, where) for url, where in reads.urls.items() if url in added}
    for name in named:
        if name not in found:
            known = ", ".join(sorted({*found, *(url for reads in versions for url in reads.urls)})) or "none"
            raise InputError(
                "--upstream",
                f"expected a variable or the beginning of a URL that {file} or a file that it imports reads "
                f"({known}), got {name}",
            )
    if not found:
        raise InputError(
            file,
            f"expected a service whose upstream is a variable of the environment, such as {example}, or a "
            "URL in its text or in that of a file that it imports: without one, no fault can be put between "
            "the two. Settings in files of other kinds, such as config.json, are not read: let a variable "
            "come before them",
        )
    return tuple(found.values())


def dotenv_values(folder: Path) -> dict[str, str]:
    """Return the variables of the .env files in a folder or, up to that of the project, above it; those of
    the first file count."""
    values: dict[str, str] = {}
    above = (folder, *folder.parents)
    last = next(
        (number for number, each in enumerate(above) if any((each / name).exists() for name in _ROOT)), 0
    )
    for file in (each / name for each in above[: last + 1] for name in _DOTENV):
        try:
            text = file.read_text("utf-8", "replace")
        except OSError:
            continue
        for line in text.splitlines():
            variable, equals, value = line.removeprefix("export ").partition("=")
            if equals and not variable.lstrip().startswith("#"):
                values.setdefault(variable.strip(), value.strip().strip("\"'"))
    return values
