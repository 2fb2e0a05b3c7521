"""Requests of which each has another host, so that few connections would be used again."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.built_requests import chain
from faultkit.code.rules.vocabulary.http_requests import http_requests

_HOST = lazy_regex(r"https?://[^/\"'`{$]*(?:\$?\{(\w*)\}|\$(\w+))")


def names_host(url: str, scope: Scope) -> bool:
    """Return whether a URL has a host that a parameter names, so that few connections would be reused."""
    found = _HOST.search(url)
    if found is None:
        return False
    names = {each.name for each in scope.parameters}
    return (
        (found[1] or found[2]) in names
        if found[1] or found[2]
        else not names.isdisjoint(re.findall(r"\w+", url[found.end() :]))
    )


def goes_to_given_host(client: Call, facts: Facts) -> bool:
    """Return whether a parameter names the host of each request of a client (Go)."""
    scope = facts.named_function_of(client)
    sent = [each for each in http_requests(facts) if client in chain(each.call)]
    urls = [(each.url, facts.assignments_to(each.url, client)) for each in sent if each.url]
    return (
        scope is not None
        and bool(urls)
        and all(
            any(
                _hosted(text, scope)
                for text in (url, *(one.value.text for one in made if one.value is not None))
            )
            for url, made in urls
        )
    )


def _hosted(url: str, scope: Scope) -> bool:
    """Return whether a URL has a host from a parameter: `fmt.Sprintf("https://%s", ip)`."""
    found = _SPRINTF.match(url)
    return found is not None and found[1] in {each.name for each in scope.parameters}


_SPRINTF = lazy_regex(r"fmt\.Sprintf\(\s*\"https?://%[sv][^\"]*\"\s*,\s*(\w+)")


def posts_to_items(call: Call, facts: Facts) -> bool:
    """Return whether each round of a loop posts to another address, as webhooks do: `post(url, …)`."""
    url = call.argument("url", place=0) if call.method == "post" else None
    return url is not None and any(url.value.text in loop.targets for loop in facts.loops_around(call))


def asks_items(call: Call, facts: Facts) -> bool:
    """Return whether the item of a loop has the address of a request: `url = link["href"]`, `get(url)`."""
    url = call.argument("url", place=0)
    if url is None or url.value.shape != "name":
        return False
    items = {target for loop in facts.loops_around(call) for target in loop.targets}
    made = [each.value for each in facts.assignments_to(url.value.text, call) if each.value is not None]
    of_item = rf"(?:{'|'.join(map(re.escape, items))})[.\[]"
    return bool(items) and (
        url.value.text.partition(".")[0] in items
        or (bool(made) and all(re.match(of_item, each.text) for each in made))
    )
