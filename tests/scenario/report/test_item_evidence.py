"""The place of faults; a review mentions no dependency that the report does not name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.load.response import Failure
from faultkit.load.slo import Slo
from faultkit.scenario.report.item_evidence import behind_service
from faultkit.scenario.report.report_model import Item
from faultkit.scenario.report.review import render_review, review
from faultkit.scenario.report.review_model import Remark
from tests.scenario.report.examples import NOT_EXERCISED
from tests.scenario.report.measured import (
    BEFORE,
    BEHIND,
    DARK,
    ERRORS,
    SLOW,
    TIMEOUT_MS,
    added,
    failing,
    fault,
    healthy,
    hole,
    load_item,
    report_of,
)


def found(item: Item) -> dict[str, Remark]:
    return {finding.rule: finding.remark for finding in review(report_of(item)).findings}


@pytest.mark.parametrize(
    ("routes", "behind"),
    [
        (BEFORE, False),
        (BEHIND, True),
        (("127.0.0.1:4000 → 127.0.0.1:9090",), False),
        (("127.0.0.1:4000 → localhost:9090",), False),
        (("127.0.0.1:4000 → 127.0.0.1:9091",), True),
        (("127.0.0.1:3180 → any host (HTTP proxy; faults act on api.example.com:443)",), True),
        (("127.0.0.1:3180 → any host (HTTP proxy; faults act on *)",), False),
        (("127.0.0.1:3180 → any host (HTTP proxy; faults act on a.test, 127.0.0.1)",), False),
        (("127.0.0.1:3180 → any host (HTTP proxy; faults act on any host)",), False),
        ((*BEHIND, *BEFORE), False),
        # The call itself goes to the map.
        (("127.0.0.1:9090 → 127.0.0.1:5432",), False),
        (("[::1]:7072 → db.internal:5432",), True),
        ((), False),
        (("\x1b|`",), False),
        (("a → <b>/c d",), False),
    ],
)
def test_routes_tell_on_which_side_of_the_service_faults_stood(routes: tuple[str, ...], behind: bool) -> None:
    assert behind_service(replace(hole(), routes=routes)) is behind


def test_a_url_that_cannot_be_read_names_no_host() -> None:
    item = hole()
    assert not behind_service(replace(item, call=replace(item.call, url="http://h:x/")))


def before(item: Item) -> Item:
    return replace(item, routes=BEFORE)


ITEMS: dict[str, Item] = {
    "timeouts": hole(),
    "server errors": load_item(failing(0.5, 0, 20, Failure.STATUS), fault(DARK, 500)),
    "injected errors": load_item(failing(0.2, 0, 20, Failure.STATUS), fault(ERRORS, 200)),
    "amplified": load_item(failing(0.49, 0, 20, Failure.STATUS), fault(ERRORS, 400)),
    "fewer errors": load_item(failing(0.04, 0, 20, Failure.STATUS), fault(ERRORS, 240)),
    "no recovery": load_item(failing(1.0, 6, 20, Failure.RESET), fault(DARK, 150, ((0.3, 0.45),))),
    "multiplied": load_item(added(120, times=3), fault(SLOW, 3000)),
    "once": load_item(added(120), fault(SLOW, 1000)),
    "in part": load_item(added(60), fault(SLOW, 1000)),
    "hidden": load_item(healthy, fault(SLOW, 1000)),
    "objective": load_item(
        added(120), fault(SLOW, 1000), slos=(Slo("latency", "", 95, 50),), verdict="failed"
    ),
    "idle": NOT_EXERCISED.items[0],
}


@pytest.mark.parametrize("name", ITEMS)
def test_faults_before_the_service_are_no_reason_to_speak_of_a_dependency(name: str) -> None:
    text = render_review(review(report_of(before(ITEMS[name])))).lower()
    for words in (
        "dependency",
        "gave up by itself",
        "that call",
        "slowed call",
        "breaker",
        "fallback",
        "n+1",
    ):
        assert words not in text


def test_a_client_that_waits_to_its_limit_is_told_what_clients_can_do() -> None:
    said = found(before(hole()))["client-gave-up"]
    assert said.what == "Clients waited to their own limit and gave up."
    assert said.much == "150 requests (15 %) ended at the client's own limit of 3,000 ms."
    assert said.next is not None
    assert "hedge" in said.next


def test_a_service_that_waits_as_long_as_its_client_needs_a_timeout() -> None:
    said = found(hole())["client-gave-up"]
    assert said.what == "The service never gave up by itself: the client did."
    assert said.next is not None
    assert said.next.startswith("Give that call a timeout well below 3,000 ms")


def test_errors_that_the_fault_answers_are_not_the_services_own() -> None:
    said = found(before(ITEMS["injected errors"]))["error-classes"]
    assert said.what == "Clients are answered with server errors."
    assert said.cause is not None
    assert said.cause.startswith("The fault answers in the place of the service")
    behind = found(ITEMS["injected errors"])["error-classes"]
    assert behind.cause == "It turns the failure of its dependency into a failure of its own."


def test_errors_that_no_fault_answers_are_the_services_own() -> None:
    said = found(before(ITEMS["server errors"]))["error-classes"]
    assert said.what == "The service answers with server errors."
    assert said.next == "Look into the log of the service at that time."


def test_only_a_service_can_have_tried_again() -> None:
    assert "retries-work" in found(ITEMS["fewer errors"])
    assert "retries-work" not in found(before(ITEMS["fewer errors"]))


def test_a_delay_that_clients_hardly_feel_is_no_merit_of_the_service() -> None:
    assert found(ITEMS["hidden"])["delay-hidden"].severity == "good"
    assert found(before(ITEMS["hidden"]))["delay-hidden"].severity == "note"


def test_what_did_not_get_well_is_named_by_the_side_that_was_watched() -> None:
    assert found(ITEMS["no recovery"])["no-recovery"].what.startswith("The service did not recover")
    assert found(before(ITEMS["no recovery"]))["no-recovery"].what.startswith("Requests did not get well")


@pytest.mark.parametrize("name", ["timeouts", "server errors", "objective"])
def test_without_faults_none_is_blamed(name: str) -> None:
    item = replace(before(ITEMS[name]), faults=(), routes=(), baseline=None, impact=())
    text = render_review(review(report_of(item)))
    assert "No fault was applied" in text
    assert "he faults stand" not in text


def test_timeouts_on_either_side_have_the_same_figures() -> None:
    near, far = found(before(hole())), found(hole())
    assert near["client-gave-up"].much == far["client-gave-up"].much
    assert hole().call.timeout_ms == TIMEOUT_MS
