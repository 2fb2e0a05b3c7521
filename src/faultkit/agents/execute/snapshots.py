"""Stored values beside a suite, in `snapshots/SUITE.json`: one for each test and target."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faultkit.agents.matchers.target import NotThere, holds, resolve
from faultkit.agents.suite.definition import SuiteExpectation
from faultkit.base.errors import InputError, RunError


class Snapshots:
    """The snapshots of one suite. They are read at first use; `save` writes them if they are updated."""

    def __init__(self, suite_file: str, *, update: bool = False) -> None:
        file = Path(suite_file)
        self.path = file.parent / "snapshots" / f"{file.stem}.json"
        self._update = update
        self._stored: dict[str, Any] | None = None
        self._is_changed = False

    def holds(self, test: str, expectation: SuiteExpectation, document: Mapping[str, Any]) -> str | None:
        """Return what is wrong with the value of an expectation's target, or None."""
        target, matcher = expectation.target, expectation.matcher
        if matcher != "snapshot":
            return holds(target, matcher, expectation.wanted, document)
        name = expectation.wanted if isinstance(expectation.wanted, str) else f"{test}: {target}"
        stored = self._read()
        if self._update:
            try:
                stored[name] = resolve(target, document)
            except NotThere as error:
                return str(error)
            self._is_changed = True
            return None
        if name not in stored:
            return f'there is no snapshot "{name}" in {self.path}: --update-snapshots writes it'
        return holds(target, matcher, stored[name], document)

    def save(self) -> None:
        """Write updated snapshots. Raises RunError."""
        if not self._is_changed:
            return
        text = json.dumps(self._stored, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(text, "utf-8")
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from None

    def _read(self) -> dict[str, Any]:
        if self._stored is None:
            try:
                stored = json.loads(self.path.read_text("utf-8"))
            except FileNotFoundError:
                stored = {}
            except (OSError, ValueError) as error:
                raise InputError(str(self.path), f"expected JSON, got: {error}") from None
            if not isinstance(stored, dict):
                raise InputError(str(self.path), "expected a mapping of snapshots")
            self._stored = stored
        return self._stored
