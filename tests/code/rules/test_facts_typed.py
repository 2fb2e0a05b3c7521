"""Facts of Rust, C# and Kotlin: names, what surrounds calls, routes, loops and handlers."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

import pytest

from faultkit.code.facts import Call, Facts, facts_of
from faultkit.code.languages import language_named
from faultkit.code.languages.syntax import parse
from faultkit.code.review.engine import findings_of


def facts(text: str, language: str) -> Facts:
    return facts_of(parse(text.encode(), language_named(language)))


def named(found: Facts, name: str) -> Call:
    (call,) = found.calls_named(name)
    return call


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("rust", "use reqwest::{Client as C};\nfn f() { C::new().get(u).send(); }", "reqwest.Client.get().send"),
        ("rust", "use std::{fs, io};\nfn f() { fs::read(p)?; }", "std.fs.read"),
        ("rust", "struct A { c: Arc<redis::Client> }\nimpl A { fn f(&self) { self.c.go(); } }", "redis.Client.go"),
        ("rust", "fn f(p: &web::Data<PgPool>) { p.get(); }", "PgPool.get"),
        ("rust", "fn f() { log::info!(\"x\"); }", "log.info"),
        ("csharp", "class A { HttpClient c = new(); void F() { c.Send(r); } }", "HttpClient.Send"),
        ("csharp", "class A(HttpClient c) { void F() { c.Send(r); } }", "HttpClient.Send"),
        ("csharp", "class A { void F(System.Net.Http.HttpClient c) { c?.Send(r); } }", "HttpClient.Send"),
        ("csharp", "class A { void F() { Channel.CreateUnbounded<int>(); } }", "Channel.CreateUnbounded"),
        ("kotlin", "import okhttp3.OkHttpClient as O\nfun f() { O().newCall(r).execute() }", "okhttp3.OkHttpClient.newCall().execute"),
        ("kotlin", "class A(private val c: OkHttpClient) { fun f() { c.newCall(r) } }", "okhttp3.OkHttpClient.newCall"),
        ("kotlin", "class A { val c: HttpClient by lazy { HttpClient(CIO) { x() } }\n fun f() { c.get(u) } }", "io.ktor.client.HttpClient.get"),
        ("kotlin", "fun f() { File(p)!!.inputStream() }", "java.io.File.inputStream"),
        ("csharp", "class A { void F() { var p = Start(x) ?? throw new E(); p.Wait(); } }", "Start().Wait"),
        ("csharp", "class A { void F() { var p = Start(x) ?? other; p.Wait(); } }", "~p.Wait"),
        ("kotlin", "fun f() { val c = open(u) ?: return\n c.read() }", "open().read"),
        ("kotlin", "fun f() { for (u in us) { val c = open(u) ?: continue\n c.read() } }", "open().read"),
        ("kotlin", "fun f() { val c = open(u) ?: other\n c.read() }", "~c.read"),
    ],
)  # fmt: skip
def test_names_are_resolved(language: str, text: str, name: str) -> None:
    assert len(facts(text, language).calls_named(name)) == 1


def test_a_call_has_what_surrounds_it() -> None:
    rust = facts("async fn f() { let a = go(x).await?; save(a); end() }", "rust")
    assert (named(rust, "go").is_awaited, named(rust, "go").assigned) == (True, ("a",))
    assert (named(rust, "save").is_discarded, named(rust, "end").is_returned) == (True, True)
    sharp = facts(
        "class A { async Task F() { using var s = Open(p); await s.Go().ConfigureAwait(false); } }", "csharp"
    )
    assert (named(sharp, "Open").is_managed, named(sharp, "Open().Go").is_awaited) == (True, True)
    thrown = facts("class A { void F() { using var s = Open(p) ?? throw new E(); } }", "csharp")
    assert (named(thrown, "Open").is_managed, named(thrown, "Open").assigned) == (True, ("s",))
    kotlin = facts("fun f() { go(x, size = 3) { end() } }", "kotlin")
    (call,) = kotlin.calls_named("go")
    assert [(each.name, each.value.text) for each in call.arguments] == [
        ("", "x"), ("size", "3"), ("", "{ end() }"),
    ]  # fmt: skip
    assert (call.is_discarded, named(kotlin, "end").is_returned) == (True, True)


@pytest.mark.parametrize(
    ("language", "text", "route"),
    [
        ("rust", "#[get(\"/a/{id}\")]\nasync fn a() {}", ("GET", "/a/{id}", "actix-web")),
        ("rust", "async fn a() {}\nfn r() { Router::new().route(\"/a\", get(b).post(a)); }", ("POST", "/a", "axum")),
        ("rust", "use axum::extract::State;\nasync fn a(State(s): State<App>) {}", ("ANY", "", "axum")),
        ("csharp", "class A { [HttpPut(\"a/{id}\")] public R a() { return null; } }", ("PUT", "/a/{id}", "aspnet")),
        ("csharp", "class A { void F() { app.MapPost(\"/a\", async (O o) => { go(); }); } }", ("POST", "/a", "aspnet")),
        ("kotlin", "class A { @DeleteMapping(\"/a\")\n fun a() { } }", ("DELETE", "/a", "spring")),
        ("kotlin", "fun Application.m() { routing { get(\"/a\") { go() } } }", ("GET", "/a", "ktor")),
    ],
)  # fmt: skip
def test_routes_are_found(language: str, text: str, route: tuple[str, str, str]) -> None:
    found = [each.route for each in facts(text, language).routes()]
    assert [(each.method, each.path, each.framework) for each in found if each is not None] == [route]


@pytest.mark.parametrize(
    ("language", "text", "loops"),
    [
        ("rust", "fn f() { for x in xs { } for i in 0..3 { } loop { } while true { } while a() { } }",
         ["each", "count", "endless", "endless", "while"]),
        ("csharp", "class A { void F() { foreach (var x in xs) { } for (int i = 0; i < 3; i++) { } while (true) { } xs.Select(x => x); } }",
         ["each", "count", "endless", "comprehension"]),
        ("kotlin", "fun f() { for (x in xs) { }\n for (i in 0 until 3) { }\n while (true) { }\n repeat(3) { go() }\n xs.forEach { it.go() } }",
         ["each", "count", "endless", "count", "comprehension"]),
    ],
)  # fmt: skip
def test_loops_have_kinds(language: str, text: str, loops: list[str]) -> None:
    assert [each.kind for each in facts(text, language).loops] == loops


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("csharp", "class A { void F() { ++a; b--; c = -d; } }"),
        ("kotlin", "fun f() { ++a\n b--\n c = -d }"),
    ],
)
def test_counting_in_either_order_sets_a_variable(language: str, text: str) -> None:
    found = [(each.targets, each.operator) for each in facts(text, language).assignments]
    assert found == [(("a",), "++"), (("b",), "++"), (("c",), "=")]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("rust", 'fn f() { match go() { Ok(x) => x, Err(e) => { log::error!("{}", e); } } }'),
        ("rust", "fn f() { if let Err(e) = go() { tracing::warn!(error = %e); } }"),
        ("csharp", 'class A { void F() { try { Go(); } catch (Exception e) { _log.LogError(e, "x"); } } }'),
        ("kotlin", 'fun f() { try { go() } catch (e: Exception) { log.error("x", e) } }'),
    ],
)
def test_handlers_that_only_log_are_known(language: str, text: str) -> None:
    ((handler,),) = [each.handlers for each in facts(text, language).tries]
    assert (handler.is_broad, handler.only_logs, handler.raises, handler.uses_error) == (
        True,
        True,
        False,
        True,
    )


def test_handlers_that_pass_errors_on_raise() -> None:
    rust = facts("fn f() -> R { match go() { Ok(x) => Ok(x), Err(e) => Err(e.into()) } }", "rust")
    assert rust.tries[0].handlers[0].raises
    sharp = facts(
        "class A { void F() { try { Go(); } catch (Exception e) when (e is X) { throw; } } }", "csharp"
    )
    assert (sharp.tries[0].handlers[0].raises, sharp.tries[0].handlers[0].is_broad) == (True, False)
    filtered = facts("class A { void F() { try { Go(); } catch when (IsLate()) { Log(); } } }", "csharp")
    assert not filtered.tries[0].handlers[0].is_broad
    kotlin = facts("fun f() { try { go() } catch (e: Exception) { throw X(e) } }", "kotlin")
    assert kotlin.tries[0].handlers[0].raises


def test_lines_of_a_function_are_judged_as_its_body() -> None:
    text = "let c = reqwest::Client::new();\nlet r = c.get(u).send().await?;\n"
    assert {(each.rule.id, each.line) for each in findings_of(text, "rust")} >= {("FK-R001", 2)}


def test_unit_tests_beside_the_code_have_no_findings() -> None:
    call = "async fn f(u: &str) { reqwest::get(u).await; }"
    assert [each.line for each in findings_of(call, "rust")] == [1]
    assert findings_of(f"#[cfg(test)]\nmod tests {{ {call} }}", "rust") == ()
    assert findings_of(f"#[tokio::test]\n#[ignore]\n{call}", "rust") == ()
    assert [each.line for each in findings_of(f"#[cfg(test)]\nmod tests {{ }}\n{call}", "rust")] == [3]


@pytest.mark.parametrize(
    ("language", "text", "is_found"),
    [
        ("rust", "impl Queue for MemoryQueueForTests {{\n fn f() {{ {rust} }}\n}}", False),
        ("rust", '#[cfg(any(test, feature = "mocks"))]\nmod mocks {{\n fn f() {{ {rust} }}\n}}', False),
        ("rust", "impl Queue for MemoryQueue {{\n fn f() {{ {rust} }}\n}}", True),
        ("python", "class FakeStore(Store):\n    def load(self):\n        {python}\n", False),
        ("python", "class Store:\n    def load(self):\n        {python}\n", True),
        (
            "python",
            "class Store:\n    def load(self):\n        for FakeStore in a:\n            {python}\n",
            True,
        ),
        ("csharp", "#if DEBUG\nclass A {{ {csharp} }}\n#endif\n", False),
        ("csharp", "#if DEBUG\nclass B {{ }}\n#else\nclass A {{ {csharp} }}\n#endif\n", True),
        ("csharp", "class MockedHost {{ {csharp} }}\n", False),
        ("csharp", "class Host {{ {csharp} }}\n", True),
    ],
)
def test_doubles_and_debug_builds_have_no_findings(language: str, text: str, is_found: bool) -> None:
    calls = {
        "rust": "let (tx, rx) = tokio::sync::mpsc::unbounded_channel();",
        "python": "return requests.get(url).json()",
        "csharp": "async void Load() { await Get(); }",
    }
    source = ("import requests\n" if language == "python" else "") + text.format(**calls)
    assert bool(findings_of(source, language)) == is_found
