from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.code.functions import list_functions
from faultkit.code.languages import language_named
from faultkit.code.names import find_function
from faultkit.code.syntax import parse

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


def test_the_line_may_be_given_apart() -> None:
    assert found("stop", 6) == "Job.stop:6"


def test_of_several_on_one_line_the_first_is_taken() -> None:
    text = "class A { f() { return 1 } } class B { f() { return 2 } }"
    assert found("f:1", text=text, language="js") == "A.f:1"


def test_go_methods_are_found_as_people_write_them() -> None:
    text = "package p\nfunc (s *Server) Serve() {}\nfunc (c Client) Close() {}\n"
    for name in ("(*Server).Serve", "Server.Serve", "Serve", "(Server).Serve"):
        assert found(name, text=text, language="go") == "Server.Serve:2"


def test_names_that_hold_signs_are_found_as_they_are() -> None:
    assert found("ns::send", text="ns::send() { :; }", language="bash") == "ns::send:1"
    assert found("ns::send:1", text="ns::send() { :; }", language="bash") == "ns::send:1"
    assert found("A.#x", text="class A { #x() {} }", language="js") == "A.#x:1"
    assert found("operator()", text="struct A { int operator()() { return 1; } };", language="cpp") == (
        "A.operator():1"
    )


def test_a_name_that_means_several_is_told_with_all_of_them() -> None:
    with pytest.raises(InputError) as caught:
        found("stop")
    assert str(caught.value) == (
        'function: expected one function, got "stop", which is any of Job.stop:6, Task.stop:9; '
        "write one of these"
    )


def test_an_overloaded_name_is_told_with_its_lines() -> None:
    with pytest.raises(InputError, match=r"any of Task\.size:11, Task\.size:13;"):
        found("Task.size")


def test_a_known_name_on_another_line_is_told_where_it_is() -> None:
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
def test_an_unknown_name_is_told_with_what_may_be_meant(name: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        found(name)
    assert caught.value.problem == problem


def test_a_text_without_functions_says_so() -> None:
    with pytest.raises(InputError, match='unknown name "f": the text has no functions'):
        found("f", text="x = 1")


def test_a_long_list_is_cut() -> None:
    text = "".join(f"def a{number}(): pass\n" for number in range(14))
    with pytest.raises(InputError, match=r"a9 and 4 more$"):
        found("zzz", text=text)
