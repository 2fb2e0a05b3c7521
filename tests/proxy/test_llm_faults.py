"""LLM faults carried out by a proxy in front of the mock, with real sockets: cases, events, live changes."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from hpack import Encoder

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.faults.dialects.recording import LlmReplay, parse_recording
from faultkit.llm.mock.mock_answers import MockAnswers
from faultkit.plan import Plan, Rule, parse_rule
from faultkit.plan.llm_cases import CaseSettings, rules_of_cases
from faultkit.proxy.data_plane import ListenerTls, ProxySpec
from faultkit.proxy.http2.frame_scanner import PREFACE
from faultkit.proxy.llm_recorder import begin_recording
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import Injected
from tests.llm.mock.served_mock import mock
from tests.proxy.http2.raw_client import HEADERS, SETTINGS, frame
from tests.proxy.origin import serving
from tests.proxy.proxied_http import ANY_PORT, client_of, get, inline, proxied, troubles
from tests.proxy.wires import LOOPBACK, PATIENCE_S

TEXT = "one good thing about the good old days"
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def target() -> Iterator[tuple[Plane, Endpoint]]:
    with mock() as url, Plane(Plan(), observed=True) as plane:
        host, _, port = url.removeprefix("http://").partition(":")
        upstream = Endpoint(host, int(port))
        spec = ProxySpec("llm", ANY_PORT, upstream, speaks="http", rewrite_host=True)
        yield plane, plane.open_proxy(spec)


class Got:
    """What a client got for one request."""

    def __init__(self, proxy: Endpoint, *, streamed: bool, path: str = CHAT, **more: Any) -> None:
        client = client_of(proxy)
        messages = [{"role": "user", "content": TEXT}]
        body = json.dumps({"model": "m", "stream": streamed, "messages": messages, **more})
        client.request("POST", path, body, {"content-type": "application/json", "accept-encoding": "gzip"})
        response = client.getresponse()
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.is_complete = True
        try:
            self.body = response.read()
        except (http.client.IncompleteRead, ConnectionResetError) as error:
            self.is_complete = False
            self.body = getattr(error, "partial", b"")
        client.close()

    @property
    def text(self) -> str:
        if not self.body.startswith(b"data: "):
            return str(json.loads(self.body)["choices"][0]["message"]["content"])
        documents = [json.loads(line[6:]) for line in self.body.splitlines() if line.startswith(b"data: {")]
        return "".join(each["choices"][0]["delta"].get("content", "") for each in documents)


def plan(target: tuple[Plane, Endpoint], *rules: Rule | dict[str, Any], seed: int = 5) -> Endpoint:
    plane, proxy = target
    plane.set_plan(Plan(tuple(rule if isinstance(rule, Rule) else parse_rule(rule) for rule in rules), seed))
    plane.take_events()
    return proxy


_BODY = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": TEXT}]})
ASK = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(_BODY)}\r\n\r\n{_BODY}".encode()
BOTH = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])


@BOTH
def test_slow_stream_lets_each_token_take_its_time(target: Any, streamed: bool) -> None:
    proxy = plan(target, *rules_of_cases(("slow-stream",), CaseSettings(mean_delay_ms=4)))
    assert Got(proxy, streamed=streamed).text == TEXT
    injected = [event for event in target[0].take_events() if isinstance(event, Injected)]
    assert [(each.effect, each.value) for each in injected] == [("delay_ms", 4.0), ("tokens_per_s", 250.0)]
    assert target[0].snapshot().lateness.early == 0


@BOTH
def test_prompt_scramble_changes_what_the_model_gets(target: Any, streamed: bool) -> None:
    settings = CaseSettings(scramble_pattern="good (old)?", scramble_with=r"bad \1")
    proxy = plan(target, *rules_of_cases(("prompt-scramble",), settings))
    assert Got(proxy, streamed=streamed).text == "one bad thing about the bad old days"


@BOTH
def test_an_instruction_is_seen_where_the_model_echoes_its_prompt(streamed: bool) -> None:
    rules = rules_of_cases(("prompt-scramble",), CaseSettings(instruction="Respond in French"))
    with mock(MockAnswers("prompt")) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        spec = ProxySpec("llm", ANY_PORT, Endpoint(host, int(port)), speaks="http", rewrite_host=True)
        with proxied(spec, *rules) as (_, proxy):
            assert Got(proxy, streamed=streamed).text == f"{TEXT}\nRespond in French"


@BOTH
def test_token_drop_leaves_out_tokens(target: Any, streamed: bool) -> None:
    proxy = plan(target, *rules_of_cases(("token-drop",), CaseSettings()))
    text = Got(proxy, streamed=streamed).text
    assert 0 < len(text) < len(TEXT)
    words = iter(TEXT.split())
    assert all(word in words for word in text.split())


@BOTH
def test_inject_bias_works_across_deltas(target: Any, streamed: bool) -> None:
    settings = CaseSettings(bias_pattern="good thing about", bias_replacement="flaw in")
    proxy = plan(target, *rules_of_cases(("inject-bias",), settings))
    got = Got(proxy, streamed=streamed)
    assert got.text == "one flaw in the good old days"
    assert "content-encoding" not in got.headers


def test_truncate_response_ends_a_stream_without_an_error(target: Any) -> None:
    proxy = plan(target, *rules_of_cases(("truncate-response",), CaseSettings()))
    got = Got(proxy, streamed=True)
    assert (got.status, got.is_complete, got.text) == (200, True, "one good thing")
    assert b'finish_reason":"stop' not in got.body
    assert b"[DONE]" not in got.body


def test_truncate_response_cuts_the_document_of_a_whole_answer(target: Any) -> None:
    proxy = plan(target, *rules_of_cases(("truncate-response",), CaseSettings()))
    got = Got(proxy, streamed=False)
    assert (got.status, got.is_complete) == (200, True)
    assert got.body.endswith(b"one good thing")


@BOTH
def test_http_error_is_500_in_the_shape_of_the_provider_and_other_paths_pass(
    target: Any, streamed: bool
) -> None:
    proxy = plan(target, *rules_of_cases(("http-error",), CaseSettings()))
    got = Got(proxy, streamed=streamed)
    assert (got.status, got.headers["content-type"]) == (500, "application/json")
    assert json.loads(got.body)["error"]["type"] == "server_error"
    before = target[0].snapshot().proxies[0].untouched
    other = Got(proxy, streamed=streamed, path="/v1/elsewhere")
    assert (other.status, target[0].snapshot().proxies[0].untouched) == (404, before + 1)


def test_a_refusal_has_the_shape_of_the_provider_and_keeps_the_connection(target: Any) -> None:
    quota = {"fault": "llm_rate_limit", "with": {"requests": 1}}
    proxy = plan(target, quota)
    assert Got(proxy, streamed=True).text == TEXT
    got = Got(proxy, streamed=True)
    assert got.status == 429
    assert json.loads(got.body)["error"]["type"] == "requests"
    assert got.headers["x-fault-injected"] == "llm_rate_limit"
    assert {"retry-after", "x-ratelimit-limit-requests"} <= set(got.headers)


@pytest.mark.parametrize("reset", [True, False])
@BOTH
def test_an_answer_is_cut(target: Any, streamed: bool, reset: bool) -> None:
    proxy = plan(target, {"fault": "answer_cut", "with": {"reset": reset}})
    assert not Got(proxy, streamed=streamed).is_complete


def test_keep_alives_come_until_the_connection_closes(target: Any) -> None:
    fault = {"fault": "llm_keep_alive_only", "with": {"every_ms": 10, "limit_s": 1.5, "after_tokens": 1}}
    proxy = plan(target, fault)
    got = Got(proxy, streamed=True)
    assert not got.is_complete
    assert got.body.count(b": keep-alive\n\n") == 150
    assert got.text == "one"


def test_a_rule_that_is_removed_ends_its_stall_at_once(target: Any) -> None:
    plane, _ = target
    proxy = plan(target, {"fault": "token_stall", "with": {"stall_ms": 600_000}})
    with socket.create_connection((proxy.host, proxy.port), PATIENCE_S) as client:
        client.sendall(ASK)
        got = client.recv(65536)
        while b"thing" not in got:
            got += client.recv(65536)
        plane.set_plan(Plan())
        while not got.endswith(b"0\r\n\r\n"):
            got += client.recv(65536)
    assert b"[DONE]" in got


def test_what_keep_alives_hold_comes_when_the_rule_is_removed(target: Any) -> None:
    plane, _ = target
    proxy = plan(target, {"fault": "llm_keep_alive_only", "with": {"every_ms": 10, "after_tokens": 1}})
    with socket.create_connection((proxy.host, proxy.port), PATIENCE_S) as client:
        client.sendall(ASK)
        got = client.recv(65536)
        while b": keep-alive" not in got:
            got += client.recv(65536)
        plane.set_plan(Plan())
        while (more := client.recv(65536)) != b"":
            got += more
    assert got.endswith(b"0\r\n\r\n")
    lines = [line for line in got.splitlines() if line.startswith(b"data: {")]
    pieces = (json.loads(line[6:])["choices"][0]["delta"].get("content", "") for line in lines)
    assert ("".join(pieces), b"[DONE]" in got) == (TEXT, True)


def test_an_early_end_closes_both_connections_though_the_upstream_goes_on() -> None:
    event = b'data: {"choices":[{"index":0,"delta":{"content":" word"}}]}\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    rule = parse_rule({"fault": "clean_end", "with": {"after_tokens": 2}})
    with socket.create_server((LOOPBACK, 0)) as server:
        spec = ProxySpec("llm", ANY_PORT, Endpoint(LOOPBACK, server.getsockname()[1]), speaks="http")
        with proxied(spec, rule) as (_, proxy):
            with socket.create_connection((proxy.host, proxy.port), PATIENCE_S) as client:
                client.sendall(ASK)
                upstream, _ = server.accept()
                with upstream:
                    upstream.settimeout(PATIENCE_S)
                    upstream.sendall(head + b"".join(b"%x\r\n%b\r\n" % (len(event), event) for _ in range(3)))
                    got = b""
                    while (more := client.recv(65536)) != b"":
                        got += more
                    with contextlib.suppress(ConnectionResetError):
                        while upstream.recv(65536):
                            pass
    assert (got.count(event), got.endswith(b"0\r\n\r\n")) == (2, True)


def test_a_client_that_leaves_leaves_nothing_open(target: Any) -> None:
    plane, _ = target
    proxy = plan(target, {"fault": "llm_keep_alive_only", "with": {"every_ms": 10, "limit_s": 600}})
    with socket.create_connection((proxy.host, proxy.port), PATIENCE_S) as client:
        client.sendall(ASK)
        assert client.recv(10)
    deadline = time.monotonic() + PATIENCE_S
    while plane.snapshot().proxies[0].live:
        assert time.monotonic() < deadline


def test_the_same_seed_hits_the_same_requests(target: Any) -> None:
    def texts(seed: int) -> list[str]:
        plan(target)
        fault = {"fault": "dropped_delta", "trigger": {"probability": 0.5}}
        rule = parse_rule(fault)
        with mock() as url:
            host, _, port = url.removeprefix("http://").partition(":")
            spec = ProxySpec("llm", ANY_PORT, Endpoint(host, int(port)), speaks="http")
            with proxied(spec, rule, seed=seed) as (_, proxy):
                return [Got(proxy, streamed=True).text for _ in range(8)]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_what_is_no_request_to_a_model_passes_and_is_counted() -> None:
    rule = parse_rule({"name": "end", "fault": "clean_end"})
    with serving() as origin, proxied(inline(origin), rule) as (plane, proxy):
        client = client_of(proxy)
        assert get(client, "/v1/models")[0] == 200
        for _ in range(2):
            assert get(client, "/v1/embeddings", "POST")[0] == 200
        client.request("POST", CHAT, b"no json")
        assert client.getresponse().read()
        client.request("POST", CHAT, b'{"model": "m", "messages": []}')
        assert client.getresponse().read() == b"POST /v1/chat/completions 30"
        client.close()
        assert plane.snapshot().proxies[0].untouched == 4
        assert troubles(plane) == [
            "end cannot act on POST /v1/embeddings, which is no path of an LLM API that is known: "
            "it passes untouched",
            "end cannot act on a request whose body is no JSON, or none of its API: it passes untouched",
            "end cannot act on an answer that is none of OpenAI Chat Completions: it passes untouched",
        ]


def test_http_2_by_prior_knowledge_passes_and_is_counted() -> None:
    rule = parse_rule({"name": "end", "fault": "clean_end"})
    requests = [
        frame(
            HEADERS,
            number,
            Encoder().encode(
                [(":method", method), (":scheme", "http"), (":authority", "llm.test"), (":path", CHAT)]
            ),
            0x5,
        )
        for number, method in ((1, "POST"), (3, "GET"), (5, "POST"))
    ]
    with serving() as origin, proxied(inline(origin), rule) as (plane, proxy):
        with socket.create_connection((proxy.host, proxy.port), PATIENCE_S) as client:
            client.sendall(PREFACE + frame(SETTINGS, 0) + b"".join(requests))
            with contextlib.suppress(ConnectionResetError):
                while client.recv(65536):  # The upstream speaks HTTP/1.1 only, and ends it.
                    pass
        assert plane.snapshot().proxies[0].untouched == 2
        assert troubles(plane)[0] == (
            "end cannot act on a request over HTTP/2, where LLM rules are not exercised (let the client use "
            "HTTP/1.1): it passes untouched"
        )


def test_a_forward_proxy_and_tls_to_clients_carry_them_out_too() -> None:
    rule = parse_rule({"fault": "replace_text", "with": {"pattern": "good", "replacement": "bad"}})
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", LOOPBACK)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    context.set_alpn_protocols(["h2", "http/1.1"])
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": TEXT}]})
    with mock() as url, certificate.private_key_and_cert_chain_pem.tempfile() as file:
        host, _, port = url.removeprefix("http://").partition(":")
        upstream = Endpoint(host, int(port))
        with proxied(ProxySpec("http", ANY_PORT), rule) as (plane, proxy):
            tls = ListenerTls(cert=file, key=file)
            secure = plane.open_proxy(ProxySpec("tls", ANY_PORT, upstream, speaks="http", client_tls=tls))
            client = client_of(proxy)
            client.request("POST", f"{url}{CHAT}", body)
            assert b'" bad"' in client.getresponse().read()
            client.close()
            over_tls = http.client.HTTPSConnection("localhost", secure.port, timeout=9, context=context)
            over_tls.request("POST", CHAT, body)
            assert over_tls.sock.selected_alpn_protocol() == "http/1.1"
            assert b'" bad"' in over_tls.getresponse().read()
            over_tls.close()


@BOTH
def test_what_the_provider_answers_is_recorded_and_replayed(tmp_path: Path, streamed: bool) -> None:
    file = tmp_path / "answers.jsonl"
    begin_recording(str(file))
    kind = "error_event" if streamed else "empty_answer"  # The one ends the answer early, the other does not.
    rule = parse_rule({"fault": kind, "with": {"after_events": 1} if streamed else {}})
    with mock() as url:
        host, _, port = url.removeprefix("http://").partition(":")
        spec = ProxySpec("llm", ANY_PORT, Endpoint(host, int(port)), speaks="http", record=str(file))
        with proxied(spec, rule) as (_, proxy):
            assert TEXT not in Got(proxy, streamed=streamed).body.decode()
    replay = LlmReplay(parse_recording(file.read_text("utf-8"), "answers.jsonl"))
    with mock(replay=replay) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        replayed = Got(Endpoint(host, int(port)), streamed=streamed)
        assert (replayed.status, replayed.text) == (200, TEXT)
        other = Got(Endpoint(host, int(port)), streamed=streamed, temperature=1)
        assert other.status == 404
        assert "differs in temperature" in json.loads(other.body)["error"]["message"]
    assert replay.missed == 1


def test_a_file_that_is_no_recording_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(InputError, match="--record: expected a new file or a recording, got "):
        begin_recording(str(file))
    assert file.read_text() == "mine"


def test_a_recording_stays_until_there_is_a_new_exchange(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    begin_recording(str(file))
    earlier = file.read_text("utf-8") + "a line\n"
    file.write_text(earlier, "utf-8")
    begin_recording(str(file))
    assert file.read_text("utf-8") == earlier
