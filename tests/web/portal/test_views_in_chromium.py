"""The views of the portal in a real browser, by mouse and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from faultkit.audit.access.api_keys import ApiKey
from tests.web.portal.browser import Browser
from tests.web.portal.serving import Served

ROWS = ".call-table tbody tr"
TOOLS = ".call-table .open"


def rows_are(browser: Browser, *tools: str) -> None:
    """Wait until the table lists calls of these tools, newest first."""
    shown = f"[...document.querySelectorAll('{TOOLS}')].map(each => each.innerText).join()"
    browser.until(f"{shown} === {json.dumps(','.join(tools))}")


# Overview


def test_the_overview_counts_and_draws_what_was_called(browser: Browser, served: Served) -> None:
    browser.open()
    browser.until("document.querySelector('.breakdown a')")
    tiles = dict(zip(browser.texts(".tiles dt"), browser.texts(".tiles dd:not(.under)"), strict=True))
    assert list(tiles) == ["Calls", "Failed", "p50", "p95", "p99", "Callers"]
    assert int(tiles["Calls"]) >= 5
    assert int(tiles["Failed"]) >= 2
    assert tiles["p99"].endswith("ms")
    assert browser.page.value("document.querySelectorAll('.column.good').length") >= 1
    assert browser.page.value("document.querySelectorAll('.column.errors').length") >= 1
    for line in ("p50", "p95", "p99"):
        assert browser.page.value(f"document.querySelector('.line.{line}').getAttribute('d').startsWith('M')")
    assert {"echo", "slow", "flaky", "error"} <= set(browser.texts(".breakdown th[scope=row]"))
    assert "out of luck" in browser.text(".latest")


def test_a_chart_is_read_with_the_arrow_keys_and_leads_to_its_calls(browser: Browser) -> None:
    browser.open()
    browser.until("document.querySelector('.column')")
    chart = "document.querySelector('.plot')"
    browser.run(f"{chart}.focus()")
    for key in ("End", "ArrowLeft", "ArrowRight"):
        browser.press(key)
    assert browser.page.value("document.querySelector('.reading').hidden") is False
    # The bucket of the calls may have ended since, and a busy machine may be some buckets behind.
    for _ in range(10):
        if not browser.page.value(f"{chart}.getAttribute('aria-valuetext')").startswith("0 calls"):
            break
        browser.press("ArrowLeft")
    browser.press("Enter")
    browser.until("location.hash.startsWith('#/calls?from=')")
    browser.until(f"document.querySelectorAll('{ROWS}').length > 0")


def test_each_chart_has_its_figures_as_a_table_and_a_title(browser: Browser) -> None:
    browser.open()
    browser.until("document.querySelector('.column')")
    assert browser.page.value(
        "[...document.querySelectorAll('.drawing title')].map(each => each.textContent)"
    ) == [
        "Calls over time",
        "Duration of calls over time",
    ]
    browser.click(".as-table summary")
    browser.until("document.querySelector('.as-table tbody td.n').getBoundingClientRect().height > 0")
    counted = browser.page.value(
        "[...document.querySelectorAll('.chart:first-child tbody tr')]"
        ".reduce((sum, row) => sum + Number(row.cells[1].innerText), 0)"
    )
    assert counted == int(browser.texts(".tiles dd")[0])


# Calls


def test_filters_live_in_the_address_and_the_address_in_filters(browser: Browser) -> None:
    browser.open("#/calls?source=mcp")
    rows_are(browser, "error", "flaky", "progress", "slow", "echo")
    browser.click(".segments label:nth-of-type(3)")
    rows_are(browser, "error", "flaky")
    assert browser.fragment == "#/calls?source=mcp&success=false"
    browser.choose(".filter-row select", "flaky")
    rows_are(browser, "flaky")
    assert browser.fragment == "#/calls?source=mcp&success=false&tool=flaky"
    browser.run("history.back()")
    rows_are(browser, "error", "flaky")
    assert browser.texts(".chip b") == ["mcp", "failed"]
    browser.click(".chip:nth-child(2) button")
    rows_are(browser, "error", "flaky", "progress", "slow", "echo")
    browser.open("#/calls?source=mcp&category=timeout")
    rows_are(browser, "error")


def test_calls_are_found_by_a_path_in_their_content(browser: Browser) -> None:
    browser.open("#/calls?source=mcp")
    rows_are(browser, "error", "flaky", "progress", "slow", "echo")
    browser.click(".filter-row > button")
    browser.type(".path input[list=paths]", "extras.user.id")
    browser.type(".path input:not([list])", "7")
    browser.press("Enter")
    rows_are(browser, "echo")
    assert browser.fragment == "#/calls?source=mcp&param.extras.user.id=7"


def test_a_slash_seeks_and_the_list_follows_the_typing(browser: Browser) -> None:
    browser.open("#/calls?source=mcp")
    rows_are(browser, "error", "flaky", "progress", "slow", "echo")
    browser.press("/")
    assert browser.focused == "filter"
    browser.page.ask("Input.insertText", text="OUT OF")
    rows_are(browser, "error")
    assert browser.fragment == "#/calls?source=mcp&q=OUT+OF"


def test_a_wrong_filter_is_an_error(browser: Browser) -> None:
    browser.open("#/calls?success=perhaps")
    browser.until("document.querySelector('.below [role=alert]')")
    assert 'success: expected true or false, got "perhaps"' in browser.text(".below")


def test_arrow_keys_walk_the_rows_and_escape_closes_the_call(browser: Browser) -> None:
    browser.open("#/calls?source=mcp")
    rows_are(browser, "error", "flaky", "progress", "slow", "echo")
    browser.run(f"document.querySelector('{TOOLS}').focus()")
    browser.press("ArrowDown")
    assert browser.focused == "flaky"
    browser.press("Enter")
    browser.until("document.querySelector('#detail-title')?.innerText === 'flaky'")
    browser.press("ArrowDown")
    browser.until("document.querySelector('#detail-title')?.innerText === 'progress'")
    browser.press("End")
    browser.until("document.querySelector('#detail-title')?.innerText === 'echo'")
    assert browser.page.value("document.querySelector('tr[aria-current] .open').innerText") == "echo"
    browser.press("Escape")
    browser.until("document.querySelector('.detail').hidden")
    assert browser.focused == "echo"
    assert browser.fragment == "#/calls?source=mcp"


def test_a_call_shows_request_response_and_headers_to_the_digit(browser: Browser) -> None:
    browser.open("#/calls?tool=flaky&source=mcp")
    browser.click(f"{ROWS} .said")
    browser.until("document.querySelector('.detail .json')")
    said = browser.texts(".detail .json")
    assert '"call_id": 9007199254740993' in said[0]
    assert '"code": -31002' in said[1]
    assert "protocol error -31002" in browser.text(".detail .sub")
    assert "mcp-session-id" in browser.text(".detail")
    assert "[redacted]" in browser.text(".detail")
    shared = browser.fragment
    browser.open(shared)
    browser.until("document.querySelector('#detail-title')?.innerText === 'flaky'")


def test_notifications_stand_with_the_time_that_they_took(browser: Browser) -> None:
    browser.open("#/tools?tool=progress&arguments=" + '{"steps":3,"step_ms":1}')
    browser.click("form.try button.primary")
    browser.until("document.querySelectorAll('.answer .notes li').length === 3")
    browser.click(".answer .sub a")
    browser.until("document.querySelectorAll('.detail .notes li').length === 3")
    assert "step 3/3" in browser.text(".detail .notes")
    assert browser.texts(".detail .notes .fine")[0].startswith("+")


def test_calls_appear_while_they_arrive_and_only_those_that_fit(browser: Browser, served: Served) -> None:
    browser.open("#/calls?tool=fixed_response&source=mcp")
    browser.until("document.querySelector('.live').dataset.state === 'on'")
    assert "No calls match" in browser.text(".below")
    served.call("echo", message="another")
    served.call("fixed_response", key="a")
    served.call("fixed_response", key="b")
    rows_are(browser, "fixed_response", "fixed_response")
    assert browser.texts(".call-table td.said") == ['{"key":"b"}', '{"key":"a"}']
    assert browser.text(".status") == "2 calls"
    browser.until("document.getElementById('announcer').textContent === '2 new calls'")


def test_calls_that_arrive_wait_while_one_is_being_read(browser: Browser, served: Served) -> None:
    browser.open("#/calls?tool=lorem&source=mcp")
    browser.until("document.querySelector('.live').dataset.state === 'on'")
    served.call("lorem", words=3, seed="a")
    browser.click(f"{ROWS} .said")
    browser.until("document.querySelector('.detail .json')")
    served.call("lorem", words=4, seed="a")
    browser.until("document.querySelector('.fresh').innerText === 'Show 1 new call'")
    assert len(browser.texts(ROWS)) == 1
    browser.click(".fresh")
    rows_are(browser, "lorem", "lorem")
    browser.press("Escape")
    browser.until("document.querySelector('.detail').hidden")
    browser.click(".live")
    browser.until("document.querySelector('.live').dataset.state === 'paused'")
    assert browser.fragment == "#/calls?tool=lorem&source=mcp&live=off"


# Tools


def test_a_tool_is_tried_by_a_form_made_from_its_schema(browser: Browser) -> None:
    browser.open("#/tools?tool=flaky")
    browser.until("document.querySelector('form.try')")
    assert browser.page.value(
        "[...document.querySelectorAll('.arguments [name]')].map(each => each.name)"
    ) == [
        "fail_rate",
        "seed",
        "call_id",
    ]
    browser.type("[name=fail_rate]", "0")
    browser.type("[name=seed]", "abc")
    browser.press("Enter", ctrl=True)
    browser.until("document.querySelector('.answer .badge')")
    assert browser.text(".answer .badge").strip() == "ok"
    assert '"roll": 0.7572819407159974' in browser.text(".answer")


def test_tool_errors_and_protocol_errors_look_different(browser: Browser) -> None:
    browser.open("#/tools?tool=error")
    browser.type("[name=message]", "no more")
    browser.click("form.try button.primary")
    browser.until("document.querySelector('.answer .badge.bad')")
    assert "protocol error -32603" in browser.text(".answer")
    browser.choose("[name=as_tool]", "true")
    browser.click("form.try button.primary")
    browser.until("document.querySelector('.answer .badge.warn')")
    assert "tool error" in browser.text(".answer")
    assert "no more" in browser.text(".answer .json")


def test_a_wrong_field_shows_an_error_and_json_is_sent_unchanged(browser: Browser) -> None:
    browser.open("#/tools?tool=slow")
    browser.type("[name=milliseconds]", "soon")
    browser.click("form.try button.primary")
    browser.until("document.querySelector('[aria-invalid=true]')")
    assert "a whole number" in browser.text(".try .problem")
    browser.click(".try .segments label:nth-of-type(2)")
    browser.type(".try textarea.code[aria-label]", '{"milliseconds": "soon"}')
    browser.click("form.try button.primary")
    browser.until("document.querySelector('.answer .badge.warn')")
    assert "want" in browser.text(".answer") or "milliseconds" in browser.text(".answer")


def test_a_slow_call_can_be_called_off(browser: Browser, served: Served) -> None:
    browser.open('#/tools?tool=slow&arguments={"milliseconds":60000}')
    browser.click("form.try button.primary")
    browser.click("form.try .actions button:nth-of-type(2)")
    browser.until("document.querySelector('.answer').innerText.includes('Cancelled')")
    browser.open("#/calls?source=portal-tryit&category=cancelled")
    rows_are(browser, "slow")
    browser.click(f"{ROWS} .said")
    browser.until("document.querySelector('.detail').innerText.includes('None: the call was cancelled.')")


# Replay


def test_a_replay_of_what_is_foretold_gives_the_same_answer(browser: Browser) -> None:
    browser.open("#/calls?tool=flaky&source=mcp")
    browser.click(f"{ROWS} .said")
    browser.click(".detail .actions button")
    browser.until("document.querySelector('.replayed')")
    assert "The same answer again." in browser.text(".replayed")
    browser.click(".replayed a")
    browser.until("document.querySelector('.detail').innerText.includes('Replay of')")


def test_a_replay_shows_what_became_different(browser: Browser, served: Served) -> None:
    served.called("lorem", words=3)
    browser.open("#/calls?tool=lorem&source=mcp&param.words=3")
    browser.click(f"{ROWS} .said")
    browser.click(".detail .actions button")
    browser.until("document.querySelector('.replayed .diff')")
    assert browser.page.value("document.querySelectorAll('.diff .gone').length") >= 1
    assert browser.page.value("document.querySelectorAll('.diff .come').length") >= 1
    assert "Another answer" in browser.text(".verdict")


def test_the_arguments_of_a_call_fill_the_form(browser: Browser) -> None:
    browser.open("#/calls?tool=flaky&source=mcp")
    browser.click(f"{ROWS} .said")
    browser.click(".detail .actions a")
    browser.until("document.querySelector('[name=call_id]')")
    values = browser.page.value("[...document.querySelectorAll('.arguments [name]')].map(each => each.value)")
    assert values == ["1", "abc", "9007199254740993"]


# Keys


@pytest.fixture
def by_admin(browser: Browser, served: Served) -> Iterator[Browser]:
    browser.sign_in(served.keys.create("root", ("admin",))[1])
    yield browser
    browser.run("sessionStorage.clear()")
    served.keys.revoke("root")


def test_without_a_key_the_view_says_how_to_make_one(browser: Browser) -> None:
    browser.open("#/keys")
    browser.until("document.querySelector('main').innerText.includes('fault keys create NAME --scope admin')")
    assert browser.page.value("document.querySelector('.new-key')") is None


def test_a_key_is_shown_once_and_can_be_revoked(by_admin: Browser, served: Served) -> None:
    browser = by_admin
    browser.open("#/keys")
    browser.until("document.querySelector('.keys tbody tr')")
    browser.type(".new-key input", "nightly")
    browser.click(".new-key button.primary")
    secret = browser.until("document.querySelector('.secret code')?.innerText")
    assert secret.startswith("fk_")
    assert served.call("echo", secret, message="by key")["result"]["structuredContent"] == {
        "message": "by key"
    }
    browser.until("document.querySelector('.keys tbody')?.innerText.includes('nightly')")
    browser.click(".secret .quiet")
    browser.open("#/keys")
    browser.until("document.querySelectorAll('.keys tbody tr').length > 1")
    assert secret not in browser.page.value("document.documentElement.outerHTML")
    revoke = (
        "[...document.querySelectorAll('.keys tbody tr')].findIndex(r => r.innerText.includes('nightly'))"
    )
    row = f".keys tbody tr:nth-child({browser.page.value(revoke) + 1})"
    browser.click(f"{row} .danger")
    browser.until("document.querySelector('dialog[open]')")
    browser.press("Escape")
    browser.until("!document.querySelector('dialog')")
    assert nightly(served).revoked_us is None
    browser.click(f"{row} .danger")
    browser.click("dialog .danger")
    browser.until("document.querySelector('.keys .over')")
    assert "revoked" in browser.text(".keys .over")
    assert nightly(served).revoked_us is not None


def nightly(served: Served) -> ApiKey:
    return next(key for key in served.keys.list() if key.name == "nightly")


def test_a_bad_name_is_refused_beside_the_field(by_admin: Browser) -> None:
    browser = by_admin
    browser.open("#/keys")
    browser.until("document.querySelector('.keys tbody tr')")
    browser.click(".new-key button.primary")
    browser.until("document.querySelector('.new-key .problem').innerText === 'A key needs a name.'")


def test_calls_can_be_kept_as_a_file(browser: Browser) -> None:
    browser.open("#/calls?tool=flaky&source=mcp")
    rows_are(browser, "flaky")
    browser.run("URL.createObjectURL = (blob) => ((window.kept = blob), 'blob:none')")
    browser.run("HTMLAnchorElement.prototype.click = () => {}")
    browser.click(".controls .quiet")
    kept = browser.until("window.kept && window.kept.size") and browser.run("window.kept.text()")
    assert [json.loads(line)["tool_name"] for line in kept.splitlines()] == ["flaky"]


def test_older_calls_come_when_they_are_asked_for(browser: Browser, served: Served) -> None:
    for _ in range(52):
        served.call("whoami")
    served.called("whoami")
    browser.open("#/calls?tool=whoami&live=off")
    browser.until("document.querySelector('.status').innerText === '50 of 53 calls'")
    browser.click(".below button")
    browser.until("document.querySelector('.status').innerText === '53 calls'")
    assert len(set(browser.texts(".call-table time"))) > 1
    assert len(browser.texts(ROWS)) == 53
    assert browser.text(".below") == ""
