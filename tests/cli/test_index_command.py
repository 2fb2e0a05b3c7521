"""`fault index` and `fault search`, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultkit.cli.main import invoke


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("QDRANT_URL", raising=False)
    monkeypatch.setenv("FAULT_INDEX_DIR", str(tmp_path / "index"))
    root = tmp_path / "shop"
    root.mkdir()
    (root / "pay.py").write_text("def charge_card(card):\n    '''Takes the money.'''\n    return card\n")
    (root / "bad.go").write_bytes(b"package \xff\n")
    return str(root)


def test_a_folder_is_indexed_and_searched(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["index", shop]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1 files with 1 chunks, ")
    assert ": 1 indexed, 0 unchanged, 0 removed, in " in out
    assert err.startswith("skipped bad.go: expected UTF-8 text")
    assert invoke(["search", "charge a card", shop]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "pay.py:1-3  charge_card",
        "    def charge_card(card):",
        "        '''Takes the money.'''",
        "        return card",
    ]


def test_both_speak_json(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["index", shop, "--json", "--lang", "go"]) == 0
    assert [each["path"] for each in json.loads(capsys.readouterr().out)["skipped"]] == ["bad.go"]
    assert invoke(["index", shop, "--json", "--lang", "python"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["files"], summary["indexed"], summary["chunks"]) == (1, 1, 1)
    assert invoke(["search", "charge a card", shop, "--json", "--limit", "1", "--mode", "lexical"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)
    assert (hit["path"], hit["name"], hit["start_line"], hit["end_line"]) == ("pay.py", "charge_card", 1, 3)


def test_nothing_found_is_said_on_the_other_stream(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["index", shop]) == 0
    capsys.readouterr()
    assert invoke(["search", "zebra", shop, "--mode", "lexical"]) == 0
    assert capsys.readouterr() == ("", "nothing found\n")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["index", "SHOP/none"], 2, "expected a folder: no such file or directory"),
        (["index", "SHOP/pay.py"], 2, "expected a folder, got a file"),
        (["index", "SHOP", "--lang", "cobol"], 2, "error: lang: expected one of python, "),
        (["search", "x", "SHOP"], 4, "has no index yet: make one with `fault index "),
        (["search", "x", "SHOP", "--mode", "magic"], 2, "'magic' is not one of"),
    ],
)
def test_what_cannot_be_done_is_said(
    shop: str, args: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([each.replace("SHOP", shop) for each in args]) == code
    assert said in capsys.readouterr().err


def test_a_server_that_is_down_is_no_target(
    shop: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:1")
    assert invoke(["index", shop]) == 3
    assert "QDRANT_URL: Qdrant at http://127.0.0.1:1 does not answer" in capsys.readouterr().err
