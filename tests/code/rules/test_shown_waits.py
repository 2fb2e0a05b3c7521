"""Rules about waits and connections show by default what the text proves."""

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_CS, _KT, _RS = "csharp", "kotlin", "rust"
BY_SLUG = {rule.slug: rule for rule in RULES}

_CASES = [
    # How often a plain function runs is not known.
    good("http-client-per-call", _RS, """
        async fn policy(domain: &str) -> Result<Bytes, Error> {
            let client = reqwest::Client::builder().timeout(LIMIT).build()?;
            client.get(format!("https://rules.example/{domain}")).send().await?.bytes().await
        }
    """),
    bad("http-client-per-call", _RS, """
        async fn policy(domain: &str) -> Result<Bytes, Error> {
            let client = reqwest::Client::builder().timeout(LIMIT).build()?;
            client.get(format!("https://rules.example/{domain}")).send().await?.bytes().await
        }
        async fn policies(domains: Vec<String>) {
            for domain in domains { policy(&domain).await; }
        }
    """, 2),
    good("http-client-per-call", _CS, """
        class A {
            public async Task<string> RegisterAsync(string name) {
                using var client = new HttpClient();
                return await client.GetStringAsync("https://a.example/" + name);
            }
            public async Task<string> Today(CancellationToken ct) {
                using var client = new HttpClient();
                return await client.GetStringAsync("https://a.example/today");
            }
        }
    """),
    # Connections are not to be kept.
    good("http-client-per-call", _GO, """
        package a
        import "net/http"
        func (p *Process) Post(path string) error {
            client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
            _, err := client.Get(p.addr + path)
            return err
        }
    """),
    bad("http-client-per-call", _GO, """
        package a
        import "net/http"
        func (p *Process) Post(path string) error {
            client := &http.Client{Transport: &http.Transport{MaxIdleConns: 3}}
            _, err := client.Get(p.addr + path)
            return err
        }
    """, 4),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_what_is_proved_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
