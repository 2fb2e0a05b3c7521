"""One table of a TOML file changes, and nothing else does."""

from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.mcp.hosts.toml_text import toml_table, with_table, without_table

PATH = ("mcp_servers", "fault")
CONFIG = """\
model = "o4-mini" # the small one

[mcp_servers.fault]
command = "old"
args = [
  "agent", # a comment
  "tool",
]
startup_timeout_sec = 20

[mcp_servers.fault.env]
A = "1"

# The database.
[mcp_servers.db]
command = "db"
"""


def test_a_table_is_added_at_the_end() -> None:
    assert with_table('model = "x"\n', PATH, {"command": "fault", "args": ["agent", "tool"]}) == (
        'model = "x"\n\n[mcp_servers.fault]\ncommand = "fault"\nargs = ["agent", "tool"]\n'
    )
    assert with_table("", PATH, {"command": "fault"}) == '[mcp_servers.fault]\ncommand = "fault"\n'


def test_only_the_lines_that_differ_are_changed() -> None:
    new = with_table(CONFIG, PATH, {"command": "/bin/fault", "args": ["agent", "tool"]})
    assert new == CONFIG.replace('"old"', '"/bin/fault"')


def test_values_of_several_lines_and_new_ones_find_their_place() -> None:
    new = with_table(CONFIG, PATH, {"args": ["agent"], "env_vars": ["KEY"]})
    assert new == CONFIG.replace(
        'args = [\n  "agent", # a comment\n  "tool",\n]', 'args = ["agent"]'
    ).replace("startup_timeout_sec = 20\n", 'startup_timeout_sec = 20\nenv_vars = ["KEY"]\n')


def test_a_table_goes_with_what_is_below_it_and_leaves_the_comments_of_others() -> None:
    assert without_table(CONFIG, PATH) == (
        'model = "o4-mini" # the small one\n\n# The database.\n[mcp_servers.db]\ncommand = "db"\n'
    )
    assert without_table('model = "x"\n', PATH) == 'model = "x"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('mcp_servers = { fault = { command = "x" } }\n', "expected a header [mcp_servers.fault]"),
        ("mcp_servers = 1\n", "expected mcp_servers to be a table, got 1"),
        ("[mcp_servers]\nfault = 1\n", "expected mcp_servers.fault to be a table, got 1"),
        ("a = \n", "(at line 1, column 5)"),
        ("mcp_servers = { db = {} }\n", "laid out oddly"),
    ],
)
def test_what_cannot_be_changed_line_by_line_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        with_table(text, PATH, {"command": "fault"})


def test_a_line_that_only_looks_like_a_header_is_none() -> None:
    text = 'a = """\n[mcp_servers.fault]\n"""\n\n[mcp_servers.fault]\ncommand = "old"\n'
    assert with_table(text, PATH, {"command": "new"}) == text.replace("old", "new")
    assert without_table(text, PATH) == 'a = """\n[mcp_servers.fault]\n"""\n'


def test_a_subtable_is_updated_where_it_stands() -> None:
    new = with_table(CONFIG, PATH, {"env": {"A": "2", "B": "3"}})
    assert new == CONFIG.replace('A = "1"\n', 'A = "2"\nB = "3"\n')


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    text = "\ufeff" + CONFIG.replace("\n", "\r\n")
    new = with_table(text, PATH, {"command": "new", "env_vars": ["KEY"]})
    assert new == text.replace('"old"', '"new"').replace("= 20\r\n", '= 20\r\nenv_vars = ["KEY"]\r\n')
    assert without_table(text, PATH).startswith('\ufeffmodel = "o4-mini" # the small one\r\n\r\n# The')


def test_a_comment_beside_a_value_stays() -> None:
    text = '[mcp_servers.fault]\ncommand = "old" # ours'
    assert with_table(text, PATH, {"command": "new", "args": []}) == (
        '[mcp_servers.fault]\ncommand = "new" # ours\nargs = []\n'
    )


@given(st.dictionaries(st.text(max_size=6), st.text(max_size=8) | st.lists(st.text(max_size=4)), max_size=4))
def test_any_table_is_written_so_that_it_is_read_back(values: dict[str, str | list[str]]) -> None:
    values = {key: value for key, value in values.items() if "\x7f" not in key}
    assert tomllib.loads(toml_table(PATH, values)) == {"mcp_servers": {"fault": values}}
