"""The job that a command line of `fault run` describes."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.address import Endpoint, UpstreamSet
from faultkit.cli.main import invoke
from faultkit.cli.run import command, hints, job_of
from faultkit.cli.run_session import RunJob
from faultkit.plan import dump_plan
from tests.proxy.control.certificates import Certificates


def job(*args: str) -> RunJob:
    return job_of(command.make_context("run", list(args)))


def test_the_command_that_everybody_tries_first() -> None:
    made = job(
        "--with-latency", "--latency-mean", "300", "--proxy", "34000=https://jsonplaceholder.typicode.com"
    )
    assert dump_plan(made.plan)["rules"] == [
        {"name": "latency", "fault": "latency", "with": {"mean_ms": 300.0}}
    ]
    (spec,) = made.maps
    assert (spec.name, spec.listen, spec.upstream, spec.tls) == (
        "34000",
        Endpoint("127.0.0.1", 34000),
        Endpoint("jsonplaceholder.typicode.com", 443),
        True,
    )
    assert made.forward is not None
    assert (made.forward.name, made.forward.listen) == ("http", Endpoint("127.0.0.1", 3180))
    assert made.forward_optional
    assert hints(made) == []


def test_a_proxy_is_named_by_its_port_and_names_stay_apart() -> None:
    made = job("--proxy", "80=h:1", "--proxy", "127.0.0.2:80=h:2", "--proxy", "0=h:3", "--proxy", "0=h:4")
    assert [spec.name for spec in made.maps] == ["80", "80-2", "0", "0-2"]


def test_options_reach_every_proxy() -> None:
    made = job("--proxy", "80=h:1", "--insecure", "--connect-timeout", "250ms", "--no-check")
    assert made.forward is not None
    assert [(spec.verify, spec.connect_timeout_s) for spec in (*made.maps, made.forward)] == [
        (False, 0.25)
    ] * 2
    assert not made.checks_upstreams


@pytest.mark.parametrize("asked", [["-u", "h"], ["--proxy-address", "127.0.0.1:3180"]])
def test_a_forward_proxy_that_was_asked_for_is_not_optional(asked: list[str]) -> None:
    assert not job("--proxy", "80=h:1", *asked).forward_optional


def test_without_maps_the_forward_proxy_is_not_optional() -> None:
    assert not job().forward_optional


def test_upstreams_come_repeated_as_a_list_or_from_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = UpstreamSet.parse(["a:1", "b:2"])
    for args in (["-u", "a:1", "--upstream", "b:2"], ["-u", "a:1,b:2"]):
        forward = job(*args).forward
        assert forward is not None
        assert forward.broken == wanted
    monkeypatch.setenv("FAULT_UPSTREAMS", "a:1,b:2")
    forward = job().forward
    assert forward is not None
    assert forward.broken == wanted


def test_variables_stand_in_for_options(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "FAULT_HTTP_PROXY_ADDRESS": "127.0.0.1:4000",
        "FAULT_PROXY_DURATION": "1m 30s",
        "FAULT_SEED": "7",
        "FAULT_CONTROL_ADDRESS": "127.0.0.1:7999",
        "FAULT_CONTROL_TOKEN": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    made = job()
    assert made.forward is not None
    assert made.forward.listen == Endpoint("127.0.0.1", 4000)
    assert (made.duration_s, made.plan.seed) == (90.0, 7)
    assert (made.control, made.control_token) == (Endpoint("127.0.0.1", 7999), "secret")
    monkeypatch.setenv("FAULT_DISABLE_HTTP_PROXY", "true")
    assert job("--proxy", "80=h:1").forward is None


def test_control_may_listen_elsewhere_with_mutual_tls(tmp_path: Path) -> None:
    authority = Certificates(tmp_path)
    cert, key = authority.issue("faults.test")
    files = ("--control-cert", cert, "--control-key", key, "--control-client-ca", authority.ca)
    made = job("--control", "0.0.0.0:7901", *files)
    assert made.control == Endpoint("0.0.0.0", 7901)
    assert made.control_tls is not None
    assert made.control_tls.names == ("faults.test",)
    assert job("--control").control_tls is None


def test_control_may_stand_alone_or_with_an_address() -> None:
    assert job().control is None
    assert job("--control").control == Endpoint("127.0.0.1", 7900)
    assert job("--control", "--tail").control == Endpoint("127.0.0.1", 7900)
    assert job("--control", "localhost:1234").control == Endpoint("localhost", 1234)


def test_rules_of_a_file_come_first_and_names_are_made_unique(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("seed: 5\nrules: [{fault: latency}, {name: jitter, fault: reset}]")
    args = ["--plan", str(file), "--with-jitter", "--with-latency"]
    made = job(*args)
    assert [rule.name for rule in made.plan.rules] == ["latency", "jitter", "latency-2", "jitter-2"]
    assert made.plan.seed == 5
    assert job(*args, "--seed", "6").plan.seed == 6
    assert job(*args, "--seed", "blue").plan.seed == "blue"


def test_without_a_seed_each_run_has_its_own() -> None:
    assert job().plan.seed != job().plan.seed


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (
            ["--with-latency"],
            "the faults touch nothing: name what they may break with --upstream HOST, or --proxy MAP",
        ),
        (
            ["--with-http-response", "--proxy", "80=h:1"],
            "http_error touches nothing: it needs an http:// or https:// upstream, or --upstream",
        ),
        (
            ["--with-dns", "--proxy", "80=[::1]:1"],
            "dns touches nothing: it needs an upstream with a name: an IP address is not looked up",
        ),
        (
            ["--with-latency", "--latency-probability", "0", "--proxy", "80=h:1"],
            "latency touches nothing: its trigger.probability is 0",
        ),
        (
            ["--with-latency", "--latency-sched", "start:1m", "--duration", "1m", "--proxy", "80=h:1"],
            "latency touches nothing: its schedule begins after 60 s, and the run ends after 60 s "
            "(--duration)",
        ),
    ],
)
def test_faults_that_can_never_act_are_warnings(args: list[str], hint: str) -> None:
    assert hints(job(*args)) == [hint]


def test_a_rule_for_an_unknown_proxy_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("rules: [{fault: latency, match: {proxy: db}}]")
    made = job("--plan", str(file), "--proxy", "80=h:1")
    assert hints(made) == ['latency touches nothing: no proxy is named "db" (there are 80, http)']


@pytest.mark.parametrize(
    ("path", "idle"),
    [("nope", True), ("api/*", True), ("http://h/*", True), ("/nope", False), ("*", False), ("[/]a", False)],
)
def test_a_path_that_no_request_has_is_a_warning(path: str, idle: bool, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(f"rules: [{{fault: http_error, match: {{path: '{path}'}}}}]")
    why = (
        f'http_error touches nothing: no path of a request matches "{path}": expected a glob such as "/api/*"'
    )
    made = job("--plan", str(file), "--proxy", "80=http://h")
    assert hints(made) == ([why] if idle else [])


@pytest.mark.parametrize(
    "args", [[], ["--with-http-response", "-u", "*"], ["--with-http-response", "--proxy", "80=http://h"]]
)
def test_faults_that_may_act_need_no_word(args: list[str]) -> None:
    assert hints(job(*args)) == []


def test_a_mean_that_the_standard_deviation_raises_is_a_warning() -> None:
    latency = ["--proxy", "80=h:1", "--with-latency", "--latency-mean", "20", "--latency-stddev"]
    assert hints(job(*latency, "10")) == []
    assert hints(job(*latency, "20")) == [
        "latency: delays below 0 are drawn again, so that their mean is 25.8 ms, not 20 ms "
        "(stddev is over half of it)"
    ]


@pytest.mark.parametrize(
    ("setting", "value", "hint"),
    [
        ("rate", "0", "the loss is 0, so that the fault does nothing"),
        (
            "rate",
            "1",
            "every segment is lost, so that each is held for 924.6 s; blackhole lets nothing pass",
        ),
        ("rtt", "0", "with rtt_ms 0, fast retransmits take no time, and bulk transfers have no limit"),
    ],
)
def test_a_packet_loss_that_is_hardly_meant_is_a_warning(setting: str, value: str, hint: str) -> None:
    loss = ["--proxy", "80=h:1", "--with-packet-loss"]
    assert hints(job(*loss)) == []
    assert hints(job(*loss, f"--packet-loss-{setting}", value)) == [f"packet_loss: {hint}"]


@pytest.mark.parametrize(("address", "warnings"), [("127.0.0.1:1", 0), ("0.0.0.0:1", 1), ("[::]:1", 1)])
def test_a_forward_proxy_for_other_machines_is_a_warning(address: str, warnings: int) -> None:
    found = hints(job("--proxy-address", address, "-u", "*"))
    assert len(found) == warnings
    assert all(hint.startswith(f"the forward proxy on {address} connects any client") for hint in found)
    assert hints(job("--proxy-address", address, "--disable-http-proxy", "--proxy", "80=h:1")) == []


def workers(*args: str) -> int:
    return job_of(command.make_context("run", list(args))).workers


def test_one_worker_unless_more_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert workers() == 1
    assert workers("--workers", "3") == 3
    monkeypatch.setenv("FAULT_WORKERS", "2")
    assert workers() == 2


def test_one_worker_may_have_any_rule() -> None:
    assert workers("--with-bandwidth", "--bandwidth-scope", "proxy") == 1


def complaint(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert invoke(["run", "--no-ui", *args]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


@pytest.mark.parametrize("count", ["0", "-1", "65"])
def test_workers_have_bounds(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "--workers", count) == f"error: --workers: expected 1 to 64, got {count}\n"


def test_connections_of_several_workers_cannot_share_a_rate(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("--workers", "2", "--with-bandwidth", "--bandwidth-scope", "proxy")
    assert complaint(capsys, *args) == (
        "error: --workers: expected 1 with the rule bandwidth: with: expected nothing that connections share "
        "with more than one worker, got scope proxy\n"
    )


def test_several_workers_cannot_share_a_quota_of_a_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "plan.yml"
    file.write_text("rules: [{name: quota, fault: llm_rate_limit, with: {requests: 5}}]")
    assert complaint(capsys, "--workers", "2", "--plan", str(file)) == (
        "error: --workers: expected 1 with the rule quota: with: expected nothing that connections share "
        "with more than one worker, got requests 5\n"
    )


def test_several_workers_cannot_count_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("rules: [{name: third, fault: reset, trigger: {every: 3}}]")
    assert complaint(capsys, "--workers", "2", "--plan", str(file)) == (
        "error: --workers: expected 1 with the rule third: trigger.every: expected none with more than one "
        "worker, since each counts for itself, got 3\n"
    )


def test_the_help_says_which_seed_is_used_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "by default that of --plan (0 if it has none), or else a random one, which is shown." in words
