"""Chunks of a file: functions stay whole where possible, nothing is lost, and ids depend on the content."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from faultkit.code import language_named, parse
from faultkit.code.index.chunks import MOST_BYTES, Chunk, chunk_file

PYTHON = language_named("python")


def chunks_of(text: str, language: str = "python", path: str = "a.py", project: str = "p") -> list[Chunk]:
    return list(chunk_file(project, path, parse(text.encode(), language_named(language))))


def test_a_function_and_what_is_left_of_the_module_are_chunks() -> None:
    text = 'import os\n\n\n@cache\ndef load(x: int) -> int:\n    """Loads."""\n    return x\n\n\nLIMIT = 3\n'
    load, module = chunks_of(text)
    assert (load.name, load.start_line, load.end_line) == ("load", 4, 7)
    assert (load.signature, load.doc) == ("def load(x: int) -> int:", "Loads.")
    assert load.text == '@cache\ndef load(x: int) -> int:\n    """Loads."""\n    return x'
    assert (module.name, module.start_line, module.end_line) == ("", 1, 10)
    assert module.text == "import os\nLIMIT = 3"


def test_a_class_without_its_methods_is_left_to_the_module() -> None:
    text = 'class Store:\n    """Keeps."""\n    size = 1\n\n    def save(self): pass\n'
    save, module = chunks_of(text)
    assert (save.name, save.text) == ("Store.save", "    def save(self): pass")
    assert module.text == 'class Store:\n    """Keeps."""\n    size = 1'


def test_the_comment_above_a_function_is_its_doc_where_the_language_writes_it_so() -> None:
    serve, _ = chunks_of("package a\n\n// Serve answers.\nfunc Serve() {\n}\n", "go", "a.go")
    assert (serve.name, serve.doc) == ("Serve", "Serve answers.")


def test_a_short_function_keeps_the_one_inside_it() -> None:
    outer, inner = chunks_of("def outer():\n    def inner():\n        return 1\n    return inner\n")
    assert "return 1" in outer.text
    assert (inner.name, inner.text) == ("outer.inner", "    def inner():\n        return 1")


def test_a_long_function_is_cut_between_statements_and_leaves_out_those_inside_it() -> None:
    lines = [
        f"    value_{number} = compute({number}, 'some words to fill the line')" for number in range(150)
    ]
    inner = ["    def inner():", "        return 'only once'"]
    text = "\n".join(["def outer():", *lines[:75], *inner, *lines[75:]]) + "\n"
    found = chunks_of(text)
    outer = [each for each in found if each.name == "outer"]
    assert len(outer) > 2
    assert all(len(each.text.encode()) <= MOST_BYTES + 4 for each in outer)
    assert [line for each in outer for line in each.text.splitlines()] == ["def outer():", *lines]
    assert sum("only once" in each.text for each in found) == 1


def test_the_lines_of_a_piece_are_those_of_the_file() -> None:
    text = "\n".join(f"value_{number} = {number!r} * {'x' * 60!r}" for number in range(200)) + "\n"
    lines = text.splitlines()
    for chunk in chunks_of(text):
        assert chunk.text.splitlines() == lines[chunk.start_line - 1 : chunk.end_line]


def test_a_line_without_end_is_cut_anywhere_but_inside_a_character() -> None:
    text = f'data = "{"é" * 5000}"\n'
    found = chunks_of(text)
    assert "".join(each.text for each in found) == text.strip()
    assert not any("�" in each.text for each in found)


def test_a_file_of_blanks_has_no_chunks() -> None:
    assert chunks_of("") == []
    assert chunks_of("\n \n\t\n") == []


def test_a_broken_file_has_chunks_of_its_valid_parts() -> None:
    names = [each.name for each in chunks_of("def good():\n    return 1\n\ndef bad(:\n    x = = 2\n")]
    assert "good" in names


def test_ids_are_equal_for_equal_chunks_only() -> None:
    text = "def f():\n    return 1\n"
    (one,) = chunks_of(text)
    assert chunks_of(text)[0].id == one.id
    others = [
        chunks_of(text, path="b.py"),
        chunks_of(text, project="q"),
        chunks_of("def g():\n    return 1\n"),
        chunks_of("def f():\n    return 2\n"),
    ]
    assert len({one.id, *(found[0].id for found in others)}) == 5


def test_a_function_that_only_moves_keeps_its_id() -> None:
    (one,) = chunks_of("def f():\n    return 1\n")
    moved = next(each for each in chunks_of("import os\n\n\ndef f():\n    return 1\n") if each.name == "f")
    assert moved.id == one.id
    assert (one.start_line, moved.start_line) == (1, 4)


def test_two_equal_functions_have_two_ids() -> None:
    text = "if x:\n    def f():\n        return 1\nelse:\n    def f():\n        return 1\n"
    one, other, _ = chunks_of(text)
    assert one.text == other.text
    assert one.id != other.id


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["def f():", "    return 1", "class A:", "    def g(self):", "        pass", "", "# é"]
        ),
        st.text(max_size=40),
    ),
    max_size=60,
)


@given(LINES, st.sampled_from(["python", "javascript", "go", "c"]))
def test_every_word_of_a_file_is_in_a_chunk_and_all_ids_differ(lines: list[str], language: str) -> None:
    text = "\n".join(lines).encode("utf-8", "replace").decode()
    found = chunks_of(text, language)
    assert len({each.id for each in found}) == len(found)
    assert not any(each.id.startswith("00000000-") for each in found)
    indexed = "\n".join(each.text for each in found)
    assert all(word in indexed for word in text.split() if word.isalnum())
    for each in found:
        assert 1 <= each.start_line <= each.end_line
        assert each.text.strip()
