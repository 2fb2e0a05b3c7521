"""Objectives for every language, in whole and broken code; text that is no code is an error."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.code.advice.answers import SLO, SLOS
from faultkit.code.languages import LANGUAGES, language_named
from faultkit.code.slos import suggest_slos
from faultkit.code.slos.indicators import promql_problem, quoted
from tests.code.slos.support import APP, work

TEXTS = {
    # A function that calls another service: its name, and the line of the call.
    "python": ("def load():\n    return requests.get(u)\n", "load", 2),
    "javascript": ("async function load() {\n  return await fetch(u);\n}\n", "load", 2),
    "typescript": ("const load = async (): Promise<R> => {\n  return axios.get(u);\n};\n", "load", 2),
    "tsx": ("export const load = async () => {\n  return axios.get(u);\n};\n", "load", 2),
    "go": ("func load() {\n\thttp.Get(u)\n}\n", "load", 2),
    "java": (
        "class A {\n  void load() {\n"
        "    HttpClient.newHttpClient().send(HttpRequest.newBuilder(u).build(), h);\n  }\n}\n",
        "A.load",
        3,
    ),
    "rust": ("async fn load() -> R {\n    reqwest::get(u).await\n}\n", "load", 2),
    "ruby": ("def load\n  Net::HTTP.get(u)\nend\n", "load", 2),
    "c": ("int load(void) {\n  return curl_easy_perform(c);\n}\n", "load", 2),
    "cpp": ("int Api::load() {\n  return curl_easy_perform(c);\n}\n", "Api.load", 2),
    "csharp": ("class A {\n  async Task Load() {\n    await client.GetAsync(u);\n  }\n}\n", "A.Load", 3),
    "php": ("<?php\nfunction load() {\n  return file_get_contents($u);\n}\n", "load", 3),
    "kotlin": ("fun load() {\n  OkHttpClient().newCall(r).execute()\n}\n", "load", 2),
    "swift": ("func load() async {\n  try await URLSession.shared.data(from: u)\n}\n", "load", 2),
    "scala": ("object A {\n  def load() = {\n    sttp.client.send(r)\n  }\n}\n", "A.load", 3),
    "bash": ('load() {\n  curl -s "$u"\n}\n', "load", 2),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_an_answer_that_names_the_call(language: str) -> None:
    text, name, line = TEXTS[language]
    found = work(text, language)
    assert found.entry.name == name
    assert [(each.kind, each.line) for each in found.dependencies] == [("request", line)]
    documents = [each.document() for each in suggest_slos(text, language)]
    jsonschema.validate(documents, SLOS)
    assert [promql_problem(each["sli"]["prometheus"]) for each in documents] == [None] * len(documents)


def test_languages_without_facts_are_known_by_words_and_the_explanation_states_it() -> None:
    first = suggest_slos(TEXTS["ruby"][0], "ruby")[0]
    assert first.explanation == (
        "load is called by other code. It waits for Net::HTTP on line 2 (another service over HTTP, 0.25 s). "
        "With 0.05 s for its own work that makes 0.3 s in 95 of 100. "
        "Calls in Ruby are known by their words only: check them."
    )


@pytest.mark.parametrize(
    ("language", "text", "method", "path"),
    [
        ("rust", '#[get("/users/{id}")]\nasync fn user(id: u32) -> R { todo!() }\n', "GET", "/users/{id}"),
        (
            "csharp",
            'class A { [HttpPost("orders")] public R Add(O o) { return null; } }\n',
            "POST",
            "/orders",
        ),
        ("csharp", "class A { [HttpGet] public R All() { return null; } }\n", "GET", ""),
        ("kotlin", '@GetMapping("/a")\nfun all(): List<A> = listOf()\n', "GET", "/a"),
        ("php", "<?php\n#[Route('/a')]\nfunction a() { return 1; }\n", "ANY", "/a"),
    ],
)
def test_routes_are_known_by_attributes(language: str, text: str, method: str, path: str) -> None:
    entry = work(text, language).entry
    assert (entry.kind, entry.method, entry.path) == ("request", method, path)


@pytest.mark.parametrize(
    "text",
    [
        "async fn load(id: u32) -> Result<String, reqwest::Error> {\n    Ok(String::new())\n}\n",
        "fn load(client: &reqwest::Client) -> R {\n    1\n}\n",
        "fn load() -> R {\n    let failed: Option<reqwest::Error> = None;\n    1\n}\n",
    ],
)
def test_a_type_of_a_library_is_no_call(text: str) -> None:
    assert work(text, "rust").dependencies == ()


def test_a_call_on_the_line_of_the_signature_counts() -> None:
    assert len(work("fn load() -> R { reqwest::Client::new().get(u).send() }\n", "rust").dependencies) == 1


def test_comments_are_not_calls_where_only_words_are_known() -> None:
    assert work("def load\n  # Net::HTTP would be better\n  1\nend\n", "ruby").dependencies == ()


def test_a_type_in_a_signature_is_no_call() -> None:
    text = "async fn load(u: &str) -> Result<String, reqwest::Error> {\n    Ok(String::new())\n}\n"
    assert work(text, "rust").dependencies == ()


@pytest.mark.parametrize("language", ["python", "javascript", "typescript", "tsx", "go", "java", "rust"])
def test_a_broken_text_still_has_an_answer(language: str) -> None:
    text, _, _ = TEXTS[language]
    jsonschema.validate([each.document() for each in suggest_slos(text[:-3] + " ((", language)], SLOS)


def test_a_broken_line_is_named() -> None:
    assert "Line 2 cannot be read" in suggest_slos("def f():\n    x = = 1\n", "python")[0].explanation


@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff", "\ufeff\n"])
def test_an_empty_text_is_no_code(text: str) -> None:
    with pytest.raises(InputError, match="snippet: expected source code, got nothing"):
        suggest_slos(text, "python")


def test_an_unknown_language_is_reported_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r'lang: expected one of python, .*, got "cobol"'):
        suggest_slos(APP, "cobol")


def test_an_unknown_function_is_reported_with_a_similar_one() -> None:
    with pytest.raises(InputError, match='function: unknown name "indx"; did you mean "index"'):
        suggest_slos(APP, "python", function="indx")
    with pytest.raises(InputError, match='function: unknown name "lod"'):
        suggest_slos(TEXTS["rust"][0], "rust", function="lod")


def test_a_name_that_two_functions_have_is_not_guessed() -> None:
    text = "class A:\n    def f(self): ...\n\nclass B:\n    def f(self): ...\n"
    with pytest.raises(InputError, match=r"any of A\.f:2, B\.f:5"):
        suggest_slos(text, "python", function="f")


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(InputError, match="snippet: expected at most 1000000 characters, got 1000002"):
        suggest_slos("x = 1\n" * 166_667, "python")


def test_a_language_may_be_given_as_a_value() -> None:
    assert suggest_slos(APP, language_named("python")) == suggest_slos(APP, "python")


@given(st.text())
def test_any_text_is_a_label_when_it_is_quoted(text: str) -> None:
    assert promql_problem(f"up{{handler={quoted(text)}}}") is None


@pytest.mark.parametrize("path", ['/a"b', "/a\\\\b", "/{id}", "/é", "/a'b"])
def test_a_path_with_odd_characters_is_escaped(path: str) -> None:
    text = f"app.get('{path}', (req, res) => res.end());\n".replace("'/a'b'", '"/a\'b"')
    documents = [each.document() for each in suggest_slos(text, "javascript")]
    assert [promql_problem(each["sli"]["prometheus"]) for each in documents] == [None] * 4


def test_an_explanation_is_never_longer_than_the_schema_allows() -> None:
    calls = "".join(f"    {'client_' * 40}{place}.session.execute('SELECT 1')\n" for place in range(30))
    documents = [each.document() for each in suggest_slos(f"def {'f' * 500}():\n{calls}", "python")]
    jsonschema.validate(documents, SLOS)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            APP.splitlines(keepends=True) + [each for text, _, _ in TEXTS.values() for each in [text]]
        ),
        min_size=1,
        max_size=8,
    ).map("".join),
    st.sampled_from(["python", "javascript", "go", "java", "ruby"]),
)
def test_any_lines_in_any_language_have_an_answer_that_holds(text: str, language: str) -> None:
    if not text.strip():
        return
    documents = [each.document() for each in suggest_slos(text, language)]
    for each in documents:
        jsonschema.validate(each, SLO)
    assert all(promql_problem(each["sli"]["prometheus"]) is None for each in documents)
