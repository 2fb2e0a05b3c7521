"""Results as workflow commands of GitHub: an annotation at the line of the YAML for each row that fails."""

from __future__ import annotations

import re

from faultkit.agents.report.words import INTERRUPTED, WORDS, problems, shown, tally, told
from faultkit.agents.result import Results, Row

_STEERING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_IN_MESSAGES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES = _IN_MESSAGES | {":": "%3A", ",": "%2C"}


def render_github(results: Results) -> str:
    lines = [_annotation(row) for row in results.rows if row.fails]
    lines += [command("error", problem, file=file, line=1) for file, problem in problems(results)]
    lines += [command("error", INTERRUPTED, title="interrupted")] if results.interrupted else []
    return "\n".join([*lines, tally(results)]) + "\n"


def command(kind: str, message: str, **properties: str | int) -> str:
    """`::error file=suite.yml,line=3::text`."""
    told = ",".join(f"{name}={_escaped(str(value), _IN_PROPERTIES)}" for name, value in properties.items())
    return f"::{kind} {told}::{_escaped(message, _IN_MESSAGES)}"


def _annotation(row: Row) -> str:
    message = "\n".join([told(row) or WORDS[shown(row)], *([row.diff] if row.diff else [])])
    title = f"{WORDS[shown(row)]}: {row.name}"
    return command("error", message, file=row.place.file, line=max(row.place.line, 1), title=title)


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(char, char) for char in _STEERING.sub(" ", text))
