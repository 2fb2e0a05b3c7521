from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from faultkit.report.markup import Markup, element, join_markup, number, percent


def test_text_and_attributes_are_escaped_and_markup_is_not() -> None:
    inner = element("b", "1 < 2")
    assert (
        element("p", inner, " & ", None, title='"x"') == '<p title="&quot;x&quot;"><b>1 &lt; 2</b> &amp; </p>'
    )


def test_names_of_attributes_follow_python() -> None:
    made = element(
        "rect", class_="a", text_anchor="end", viewBox="0 0 1 1", hidden=True, open=False, x=None, y=1.5
    )
    assert made == '<rect class="a" text-anchor="end" viewBox="0 0 1 1" hidden y="1.5"></rect>'
    assert element("meta", name="x") == '<meta name="x">'


def test_coordinates_are_short() -> None:
    assert [number(value) for value in (1, 1.50, 0.333333, -0.001, 1e6)] == [
        "1",
        "1.5",
        "0.33",
        "0",
        "1000000",
    ]
    assert percent(0.125) == "12.5%"


class Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.read = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.read += data


@given(st.text(), st.text())
def test_no_text_breaks_out_of_its_element(inside: str, value: str) -> None:
    made = element("p", inside, title=value)
    reader = Reader(made)
    assert [tag for tag, _ in reader.tags] == ["p"]
    assert [name for name, _ in reader.tags[0][1]] == ["title"]
    made.encode("utf-8")


def test_joined_children_are_markup() -> None:
    assert isinstance(join_markup(["<", Markup("<br>")]), Markup)
    assert join_markup(["<", Markup("<br>")]) == "&lt;<br>"
