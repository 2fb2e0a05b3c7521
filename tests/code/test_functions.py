"""Functions of every language: fixtures with their expectations beside them, then unusual code."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.code.functions import MOST_PARTS, Function, comment_text, find_function, list_functions
from faultkit.code.languages import LANGUAGES, language_named
from faultkit.code.languages.syntax import Syntax, parse
from faultkit.code.source_files import read_source
from tests.code.outline import outline

FIXTURES = Path(__file__).parent / "fixtures"
SAMPLES = sorted(path for path in FIXTURES.glob("sample.*") if path.suffix != ".txt")


def functions_of(text: str, language: str) -> tuple[Syntax, dict[str, Function]]:
    syntax = parse(text.encode(), language_named(language))
    return syntax, {each.qualified_name: each for each in list_functions(syntax)}


def names_of(text: str, language: str) -> list[str]:
    syntax = parse(text.encode(), language_named(language))
    return [each.qualified_name for each in list_functions(syntax)]


def test_there_is_a_sample_of_every_language() -> None:
    assert {read_source(path).language.name for path in SAMPLES} == set(LANGUAGES)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.suffix)
def test_functions_are_listed_as_the_sample_says(path: Path) -> None:
    syntax = read_source(path).parse()
    assert not syntax.has_errors
    assert outline(syntax) == path.with_name(f"{path.name}.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.suffix)
@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
def test_line_ends_change_nothing_but_themselves(path: Path, line_end: str) -> None:
    file = read_source(path)
    plain, other = file.parse(), parse(file.source.replace(b"\n", line_end.encode()), file.language)
    pairs = list(zip(list_functions(plain), list_functions(other), strict=True))
    assert pairs
    for one, two in pairs:
        assert plain.text(one.full).replace("\n", line_end) == other.text(two.full)
        assert plain.text(one.body).replace("\n", line_end) == other.text(two.body)
        assert (one.qualified_name, one.line, one.end_line) == (two.qualified_name, two.line, two.end_line)
        assert (one.parameters, one.doc) == (two.parameters, two.doc)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.suffix)
def test_functions_before_a_syntax_error_are_listed(path: Path) -> None:
    file = read_source(path)
    first = list_functions(file.parse())[0]
    cut = file.source.index(b"\n", first.full.end) + 1
    broken = parse(file.source[:cut] + b"\n((( {{{ [[[ def function ;\n", file.language)
    assert broken.has_errors
    assert first.name in [each.name for each in list_functions(broken)]


@pytest.mark.parametrize("name", LANGUAGES)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_whatever_the_text_spans_are_in_order_and_inside_each_other(name: str, data: st.DataObject) -> None:
    sample = next(path for path in SAMPLES if read_source(path).language.name == name)
    pieces = sample.read_text("utf-8").splitlines(keepends=True)
    noise = st.text("(){}[]<>;:,.=\"'#@\n\t ä", max_size=12)
    chosen = data.draw(st.lists(st.sampled_from(pieces) | noise, max_size=40))
    syntax = parse("".join(chosen).encode(), LANGUAGES[name])
    functions = list_functions(syntax)
    assert [each.full.start for each in functions] == sorted(each.full.start for each in functions)
    for each in functions:
        assert 0 <= each.full.start <= each.body.start <= each.body.end <= each.full.end <= len(syntax.source)
        assert 1 <= each.start_line <= each.line <= each.end_line <= syntax.line_count
        assert each.name
        assert each.qualified_name.endswith(each.name)


@pytest.mark.parametrize(
    ("language", "opening", "closing"),
    [
        ("javascript", "function f() { ", "} "),
        ("python", "", ""),
        ("go", "f := func() { ", "}; "),
        ("rust", "fn f() { ", "} "),
    ],
)
def test_functions_in_functions_may_be_very_deep(language: str, opening: str, closing: str) -> None:
    depth = 400
    before = "package p\nfunc main() { " if language == "go" else ""
    text = before + opening * depth + closing * depth + ("}" if before else "")
    if language == "python":
        text = "".join(f"{' ' * level}def f():\n" for level in range(depth)) + " " * depth + "pass\n"
    syntax = parse(text.encode(), language_named(language))
    functions = list_functions(syntax)
    assert len(functions) == depth + bool(before)
    assert functions[-1].qualified_name == ".".join(["f"] * MOST_PARTS)


def test_a_very_long_run_of_comments_is_cut() -> None:
    _, found = functions_of("// x\n" * 20_000 + "function f() {}", "js")
    assert found["f"].doc.count("x") == 500


def test_functions_of_broken_files_are_found_around_the_break() -> None:
    text = "function ok() { return 1 }\nfunction broken( {\nconst also = () => 2;\n"
    assert names_of(text, "js")[0] == "ok"
    assert names_of("def ok():\n    pass\n\ndef broken(:\n\nclass A:\n    def m(self): pass\n", "py") == [
        "ok",
        "broken",
        "A.m",
    ]


def test_a_name_that_the_parser_invented_is_no_name() -> None:
    text = '="package main\n\thandler := func(w http.ResponseWriter, r *http.Request) {\n}\n'
    syntax = parse(text.encode(), language_named("go"))
    assert all(each.name for each in list_functions(syntax))


def test_functions_without_a_body_are_not_listed() -> None:
    assert names_of("int f(int x);\nint g(int x) { return x; }\n", "c") == ["g"]
    assert names_of("class A { A() = default; void f(); void g() {} };", "cpp") == ["A.g"]
    assert names_of("declare function f(): void;\ninterface I { g(): void }", "ts") == []


def test_a_callback_has_no_name_but_functions_inside_it_have() -> None:
    assert names_of("on('x', () => { const f = () => 1; });\n(function main() {})();", "js") == ["f", "main"]


def test_a_function_expression_is_named_after_its_holder() -> None:
    text = """
    const {a} = () => 1;
    x['y'] = () => 1;
    this.go = function () {};
    module.exports = function create() {};
    exports.b = exports.c = () => 1;
    a.prototype.f = make().g = function () {};
    const d = (async () => {}) as Foo;
    export default { methods: { e() {} } };
    """
    assert names_of(text, "ts") == ["go", "create", "c", "g", "d", "methods.e"]


def test_the_whole_block_of_a_javascript_function_is_its_statement() -> None:
    text = "export const f = () => 1;\nlet g = () => 2, h = () => 3;\nmodule.exports.k = function () {};"
    syntax, found = functions_of(text, "js")
    assert [syntax.text(each.full) for each in found.values()] == [
        "export const f = () => 1;",
        "g = () => 2",
        "h = () => 3",
        "module.exports.k = function () {};",
    ]


def test_go_functions_that_share_a_statement_take_their_place_in_it() -> None:
    text = "package p\nvar x, y = func() {}, func() int { return 1 }\n"
    syntax, found = functions_of(text, "go")
    assert {name: syntax.text(each.full) for name, each in found.items()} == {
        "x": "func() {}",
        "y": "func() int { return 1 }",
    }


def test_rust_types_lend_their_plain_name() -> None:
    text = "impl<'a, T> X for &'a mut Vec<T> { fn a() {} } impl dyn Foo { fn b() {} }"
    text += " impl X for [u8] { fn c() {} }"
    assert names_of(text, "rust") == ["Vec.a", "Foo.b", "[u8].c"]


def test_cpp_operators_and_definitions_outside_the_class() -> None:
    text = (
        "A::A() : x(1) {}\nA& A::operator = (const A& o) { return *this; }\n"
        "A::operator int() { return 1; }\nvoid* operator new(size_t n) { return 0; }\n"
        "int A<T>::B::f(std::string, int x[]) const { return 1; }\n"
    )
    _, found = functions_of(text, "c++")
    assert {name: (each.kind, each.parameters) for name, each in found.items()} == {
        "A.A": ("constructor", ()),
        "A.operator=": ("operator", ("o",)),
        "A.operator int": ("operator", ()),
        "operator new": ("operator", ("n",)),
        "A.B.f": ("method", ("x",)),
    }


def test_names_in_backticks_are_listed_without() -> None:
    assert names_of("fun `with space`() {}", "kotlin") == ["with space"]
    assert names_of("func `default`() {}", "swift") == ["default"]


def test_scala_blocks_end_with_their_last_statement() -> None:
    syntax, found = functions_of("def f(y: Int) =\n  y\n\n// of g\ndef g = 1\n", "scala")
    assert [syntax.text(each.full) for each in found.values()] == ["def f(y: Int) =\n  y", "def g = 1"]


def test_a_comment_far_above_or_beside_other_code_is_no_doc() -> None:
    _, found = functions_of("// far\n\nfunc();  // beside\nfunction f() {}\n// near\nfunction g() {}", "js")
    assert (found["f"].doc, found["g"].doc) == ("", "near")


PYTHON = """\
def run(): pass

class Job:
    def run(self):
        def step(): pass
    def stop(self): pass

class Task:
    def stop(self): pass
    @property
    def size(self): pass
    @size.setter
    def size(self, value): pass
"""


def found(name: str, line: int | None = None, text: str = PYTHON, language: str = "python") -> str:
    functions = list_functions(parse(text.encode(), language_named(language)))
    chosen = find_function(functions, name, line)
    return f"{chosen.qualified_name}:{chosen.line}"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("run", "run:1"),
        ("Job.run", "Job.run:4"),
        ("run()", "run:1"),
        (" step ", "Job.run.step:5"),
        ("run.step", "Job.run.step:5"),
        ("Job::run", "Job.run:4"),
        ("Job#run", "Job.run:4"),
        ("stop:9", "Task.stop:9"),
        ("size:11", "Task.size:11"),
        ("size:12", "Task.size:13"),
        ("run:5", "Job.run:4"),
    ],
)
def test_a_function_is_found_by_its_name_the_end_of_it_or_its_line(name: str, answer: str) -> None:
    assert found(name) == answer


def test_the_line_may_be_a_separate_argument() -> None:
    assert found("stop", 6) == "Job.stop:6"


def test_of_several_functions_on_one_line_the_first_is_returned() -> None:
    text = "class A { f() { return 1 } } class B { f() { return 2 } }"
    assert found("f:1", text=text, language="js") == "A.f:1"


def test_go_methods_are_found_as_people_write_them() -> None:
    text = "package p\nfunc (s *Server) Serve() {}\nfunc (c Client) Close() {}\n"
    for name in ("(*Server).Serve", "Server.Serve", "Serve", "(Server).Serve"):
        assert found(name, text=text, language="go") == "Server.Serve:2"


def test_names_with_punctuation_are_found_as_written() -> None:
    assert found("ns::send", text="ns::send() { :; }", language="bash") == "ns::send:1"
    assert found("ns::send:1", text="ns::send() { :; }", language="bash") == "ns::send:1"
    assert found("A.#x", text="class A { #x() {} }", language="js") == "A.#x:1"
    assert found("operator()", text="struct A { int operator()() { return 1; } };", language="cpp") == (
        "A.operator():1"
    )


def test_an_ambiguous_name_is_reported_with_all_candidates() -> None:
    with pytest.raises(InputError) as caught:
        found("stop")
    assert str(caught.value) == (
        'function: expected one function, got "stop", which is any of Job.stop:6, Task.stop:9; '
        "write one of these"
    )


def test_an_overloaded_name_is_reported_with_its_lines() -> None:
    with pytest.raises(InputError, match=r"any of Task\.size:11, Task\.size:13;"):
        found("Task.size")


def test_a_known_name_on_another_line_is_reported_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        found("step:1")
    assert str(caught.value) == 'function: expected "step:1" on line 1, but it is Job.run.step:5'


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("rnu", 'unknown name "rnu"; did you mean "run"?'),
        ("Jbo.stop", 'unknown name "Jbo.stop"; did you mean "Job.stop" or "Job.run.step"?'),
        (
            "x" * 9,
            'unknown name "xxxxxxxxx"; '
            "expected one of run, Job.run, Job.run.step, Job.stop, Task.stop, Task.size",
        ),
        ("", "expected the name of a function, got nothing"),
        (" ", "expected the name of a function, got nothing"),
    ],
)
def test_an_unknown_name_is_reported_with_similar_names(name: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        found(name)
    assert caught.value.problem == problem


def test_a_text_without_functions_is_reported() -> None:
    with pytest.raises(InputError, match='unknown name "f": the text has no functions'):
        found("f", text="x = 1")


def test_a_long_list_is_cut() -> None:
    text = "".join(f"def a{number}(): pass\n" for number in range(14))
    with pytest.raises(InputError, match=r"a9 and 4 more$"):
        found("zzz", text=text)


@pytest.mark.parametrize(
    ("comments", "text"),
    [
        ([], ""),
        (["// one"], "one"),
        (["/// one\n", "///\n", "///   two\n"], "one\n\n  two"),
        (["# one", "#two"], "one\ntwo"),
        (["/** one */"], "one"),
        (["/* one\n   two */"], "one\ntwo"),
        (["/**\n * one\n *\n *   - two\n */"], "one\n\n  - two"),
        (["/*! one */", "// two"], "one\ntwo"),
        (["/**/"], ""),
        (["-- one"], "one"),
    ],
)
def test_marks_stars_and_indentation_are_removed(comments: list[str], text: str) -> None:
    assert comment_text(comments) == text
