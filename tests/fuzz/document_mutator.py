"""YAML and JSON documents with wrong values, keys, tags and bytes. Pure, determined by a seed."""

from __future__ import annotations

import copy
import json
import random
from functools import cache
from typing import Any

import yaml

from tests.mcp.fuzz.message_mutator import wrong_bytes

_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    -0.0,
    10**400,
    1e308,
    float("inf"),
    float("nan"),
    "",
    " ",
    "\x00",
    "\ud800",
    "\x85\u2028",
    "a" * 5000,
    "${X",
    "${NOT_SET}",
    "${NOT_SET:-7}",
    "$$",
    "{{ args.x }}",
    "{{ args.",
    "(a+)+$",
    "(?P<",
    "re:[",
    "10s",
    "-5ms",
    "1e999s",
    "50%",
    "start:10%,duration:",
    "127.0.0.1:99999",
    "http://[::1",
    "hang%0.5@x",
    "../../../etc/passwd",
    "/dev/null",
    "/dev/zero/x",
    "-",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"x": {"x": {"x": []}}},
    ["x"] * 300,
)
_YAML_TEXTS = (
    "!!bool maybe",
    "!!int ''",
    "!!float ''",
    "!!timestamp x",
    "!!binary '*'",
    "!!python/object/apply:os.system [exit]",
    "!!set {a, b}",
    "!!omap [a]",
    "!!map []",
    "!x y",
    "*nowhere",
    "&a [*a]",
    "&a {b: *a}",
    "{<<: 1}",
    "{<<: [x]}",
    "? [a, b]\n: c",
    "{[a]: b}",
    "{? {a: b} : c}",
    "2001-01-01",
    "2001-99-99",
    "2001-01-01T25:00:00Z",
    "0o9",
    "1:60:60",
    "0b",
    ".inf",
    ".nan",
    "=",
    "<<",
    "~",
    "'unclosed",
    '"\\ud800"',
    '"\\xZZ"',
    "|9\n x",
    "%YAML 9.9\n---",
    "---\n---\n",
    "...\n",
    "\ta: b",
    "[" * 2000,
    "{a: " * 500,
    "- " * 1500,
)


def mutated_document(rng: random.Random, sample: str) -> str:
    """Return a text that is wrong in its values, in its YAML, in its bytes, or in several of them."""
    text = sample
    roll = rng.random()
    if roll < 0.7:
        text = _with_wrong_values(rng, sample)
    if 0.6 < roll < 0.85:
        text = _with_wrong_yaml(rng, text)
    if roll > 0.8:
        text = wrong_bytes(text.encode("utf-8", "surrogatepass"), rng).decode("utf-8", "replace")
    return text


def mutated_value(rng: random.Random, value: Any) -> Any:
    """Return a copy of a mapping or a list that is wrong in one to three places."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        if places := _places(value):
            _spoil(rng, *rng.choice(places))
    return value


def _with_wrong_values(rng: random.Random, sample: str) -> str:
    documents = mutated_value(rng, _parsed(sample))
    if len(documents) == 1 and rng.random() < 0.7:
        return json.dumps(documents[0], default=str)
    return yaml.dump_all(documents, allow_unicode=rng.random() < 0.5, Dumper=_Dumper)


@cache
def _parsed(sample: str) -> list[Any]:
    return list(yaml.safe_load_all(sample))


class _Dumper(yaml.SafeDumper):
    """Writes repeated values in full: aliases are a matter of `_YAML_TEXTS`."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys: list[Any] = (
        list(value) if isinstance(value, dict) else [*range(len(value))] if isinstance(value, list) else []
    )
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def _spoil(rng: random.Random, owner: Any, key: Any) -> None:
    how = rng.randrange(6)
    if how == 0:
        del owner[key]
    elif how == 1 and isinstance(owner, dict):
        other = rng.choice(["", "x", 7, None, True, 1.5, str(key).upper(), f"{key} ", "a.b[0]", "\x00"])
        owner[other] = owner.pop(key)
    elif how == 2 and isinstance(owner, list):
        owner.extend(copy.deepcopy(owner))
    elif how == 3:
        owner[key] = rng.choice([[owner[key]], {"x": owner[key]}, str(owner[key]), [owner[key]] * 3])
    else:
        owner[key] = copy.deepcopy(rng.choice(_VALUES))


def _with_wrong_yaml(rng: random.Random, text: str) -> str:
    lines = text.splitlines() or [""]
    at = rng.randrange(len(lines))
    odd = rng.choice(_YAML_TEXTS)
    head, colon, _ = lines[at].partition(": ")
    how = rng.randrange(3)
    if how == 0 and colon:
        lines[at] = f"{head}: {odd}"
    elif how == 1:
        lines[at : at + 1] = [odd, lines[at]]
    else:
        lines[at] = lines[at].replace(" ", f" {odd} ", 1)
    return "\n".join(lines) + "\n"
