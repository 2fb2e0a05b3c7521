"""A change of one function changes that function and its imports; all others stay byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import RunError
from faultkit.code import Syntax, find_function, language_named, list_functions, parse
from faultkit.code.advice.advisor import Advisor
from faultkit.code.advice.function_change import _blanked, _carried_over, change_function
from tests.code.advice.test_advisor_model import change as proposed
from tests.code.corpus.test_corpus import Pair, pairs
from tests.llm.conftest import OpenModel
from tests.llm.scripted_provider import ScriptedServer

PAIRS = pairs()
CALLS = """\
import httpx


def first(url):
    '''Gets one.'''

    return httpx.get(url).json()


def second(url):
    return httpx.get(url).json()
"""


def parsed(text: str, language: str) -> Syntax:
    return parse(text.encode(), language_named(language))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.language}/{pair.name}")
def test_a_file_with_other_functions_blanked_out_parses_and_keeps_its_lines(pair: Pair) -> None:
    syntax = parsed(pair.before, pair.language)
    functions = list_functions(syntax)
    for each in functions:
        blanked = _blanked(syntax, each, functions)
        again = parsed(blanked, pair.language)
        assert not again.has_errors, blanked
        assert blanked.count("\n") == pair.before.count("\n")
        kept = find_function(list_functions(again), f"{each.qualified_name}:{each.line}")
        assert again.text(kept.full) == syntax.text(each.full)


@pytest.mark.parametrize("pair", PAIRS[::3], ids=lambda pair: f"{pair.language}/{pair.name}")
def test_other_functions_stay_byte_for_byte(pair: Pair, tmp_path: Path) -> None:
    syntax = parsed(pair.before, pair.language)
    functions = list_functions(syntax)
    file = tmp_path / f"code{language_named(pair.language).endings[0]}"
    file.write_text(pair.before)
    for wanted in functions[:2]:
        name = f"{wanted.qualified_name}:{wanted.line}"
        answer = change_function(Advisor(), file, name, None, target_score=1.0)
        after = parsed(answer.new, pair.language)
        codes = {each.qualified_name: after.text(each.full) for each in list_functions(after)}
        for each in functions:
            overlaps = each.full.start < wanted.full.end and wanted.full.start < each.full.end
            if not overlaps:
                assert codes[each.qualified_name] == syntax.text(each.full)


def test_helpers_of_the_file_are_known_although_they_are_blanked_out(tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    first = change_function(Advisor(), file, "first", "reliability", target_score=1.0)
    file.write_text(first.new)
    second = change_function(Advisor(), file, "second", "reliability", target_score=1.0)
    names = [each.qualified_name for each in list_functions(parsed(second.new, "python"))]
    assert len(names) == len(set(names))
    assert "'''Gets one.'''" in second.new
    # httpx has a limit of its own: a review reports it as low, and no change replaces it.
    assert second.score_after > max(second.score, 0.95)
    compile(second.new, "calls.py", "exec")


def test_a_change_of_other_functions_is_refused() -> None:
    syntax = parsed(CALLS, "python")
    functions = list_functions(syntax)
    blanked = _blanked(syntax, functions[1], functions)
    with pytest.raises(RunError, match="the change reaches into other functions"):
        _carried_over(CALLS, blanked, blanked.replace("pass  #", "return 1  #"))


METHOD = "import httpx\n\n\nclass Store:\n    def load(self, url):\n        return httpx.get(url).json()\n"


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (
            "    import os\n\n"
            "    def load(self, url):\n        return httpx.get(url, timeout=os.nice(0)).json()\n",
            METHOD.replace("import httpx\n", "import httpx\nimport os\n").replace(
                "get(url)", "get(url, timeout=os.nice(0))"
            ),
        ),
        (
            "    import httpx\n\n    def load(self, url):\n        return httpx.get(url, timeout=3).json()\n",
            METHOD.replace("get(url)", "get(url, timeout=3)"),
        ),
    ],
)
def test_imports_that_a_model_puts_before_a_method_go_to_the_top(
    sent: str, wanted: str, tmp_path: Path, server: ScriptedServer, open_model: OpenModel
) -> None:
    file = tmp_path / "store.py"
    file.write_text(METHOD)
    server.play(proposed(sent))
    answer = change_function(Advisor(open_model("ollama")), file, "load", None, target_score=0.9)
    assert answer.new == wanted
    assert answer.engine == "ollama"


def test_a_model_that_puts_more_than_a_method_into_a_class_is_refused(
    tmp_path: Path, server: ScriptedServer, open_model: OpenModel
) -> None:
    file = tmp_path / "store.py"
    file.write_text(METHOD)
    sent = (
        "    limit = 3\n\n"
        "    def load(self, url):\n        return httpx.get(url, timeout=self.limit).json()\n"
    )
    server.play(proposed(sent))
    with pytest.raises(RunError, match="the change puts more than the function where it stands"):
        change_function(Advisor(open_model("ollama")), file, "load", None, target_score=0.9)


def test_a_function_of_a_file_that_cannot_be_read_is_left_alone_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(f"def broken(:\n    pass\n\n\n{CALLS}")
    answer = change_function(Advisor(), file, "first", "reliability", target_score=1.0)
    assert (answer.diff, answer.changes, answer.dependencies) == ("", (), ())
    assert answer.new == answer.old == file.read_text()
    assert answer.reason == "the file cannot be changed: it cannot be read as Python: see line 1"
