"""`fault explain`: list the rules of `fault review`, or explain some with good and bad code."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent, wrap

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import columns, json_option, print_json
from faultkit.code.languages import LANGUAGES
from faultkit.code.review.engine import ALL_RULES
from faultkit.code.review.explanation import (
    CodeExample,
    explained_document,
    explanation_of,
    languages_text,
    rule_document,
    state_of,
    suppression_of,
)
from faultkit.code.review.selection import check_rule_name, exactness
from faultkit.code.rules import Rule

_WIDTH = 100
_INDENT = "    "


@click.command(
    "explain",
    epilog="""\b
Examples:
  fault explain
  fault explain FK-R001
  fault explain http-call-without-timeout swallowed-error
  fault explain FK-P --json
""",
)
@click.argument("names", metavar="[RULE]...", nargs=-1)
@json_option()
def command(names: tuple[str, ...], as_json: bool) -> None:
    """Explain rules of `fault review`: why, bad and good code, the fix, and when to ignore a finding.

    RULE is an id (FK-R001) or a slug; FK-P or a kind is several rules. Without RULE, list all rules.
    """
    if not names:
        if as_json:
            print_json({"rules": [rule_document(rule) for rule in ALL_RULES]})
        else:
            click.echo(_list())
        return
    rules = _named(names)
    if as_json:
        print_json({"rules": [explained_document(rule) for rule in rules]})
    else:
        click.echo("\n\n\n".join("\n".join(explanation_lines(rule)) for rule in rules))


def _named(names: tuple[str, ...]) -> list[Rule]:
    """Return the rules in the order in which they are named, each once."""
    found: dict[str, Rule] = {}
    for name in names:
        try:
            check_rule_name(name, ALL_RULES)
        except InputError as error:
            raise error.at("RULE") from None
        found |= {rule.id: rule for rule in ALL_RULES if exactness(name, rule)}
    return list(found.values())


def _list() -> str:
    rows = [("RULE", "SLUG", "SEVERITY", "DEFAULT", "LANGUAGES")]
    rows += [
        (rule.id, rule.slug, rule.severity, "on" if rule.by_default else "off", languages_text(rule))
        for rule in ALL_RULES
    ]
    return f"{columns(rows)}\n\n`fault explain RULE` shows bad and good code, the fix, and when to ignore it."


def explanation_lines(rule: Rule) -> Iterator[str]:
    """Yield the explanation of a rule as lines of text."""
    text = explanation_of(rule)
    yield f"{rule.id}  {rule.slug}"
    yield rule.title
    yield from wrap(f"{rule.kind}, {rule.severity}; {languages_text(rule)}; {state_of(rule)}", _WIDTH)
    yield from _part("Why", rule.why)
    yield from _part("Evidence", text.evidence)
    yield from _code("Bad", text.bad)
    yield from _code("Good", text.good)
    yield from _part("Fix", rule.fix)
    yield from _part("When to ignore", text.when_to_ignore)
    yield from ("", "Suppress", f"{_INDENT}{suppression_of(rule)}")


def _part(title: str, text: str) -> Iterator[str]:
    yield from ("", title)
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ""
        yield from wrap(
            paragraph,
            _WIDTH,
            initial_indent=_INDENT,
            subsequent_indent=_INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _code(title: str, examples: tuple[CodeExample, ...]) -> Iterator[str]:
    for each in examples:
        yield from ("", f"{title} ({LANGUAGES[each.language].title})")
        yield indent(each.text.rstrip("\n"), _INDENT)
