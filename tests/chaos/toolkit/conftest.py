"""A shop for Chaos Toolkit files to break, an HTTP server for their probes, and ways to run them."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from faultkit.chaos.experiment.experiment_file import load_experiment
from faultkit.chaos.experiment.experiment_model import ToolkitExperiment
from tests.chaos.stage import Stage
from tests.chaos.toolkit.documents import PYTHON, SERVER

FILES = Path(__file__).parent / "files"


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status = 200 if self.path == "/json" else int(self.path.strip("/"))
        body = json.dumps({"queue": {"depth": 3}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def toolkit_server() -> Iterator[str]:
    serving = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()
    thread.join(5)


class Shop:
    """The system and the files that break it. Its state is reset for each run."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self._server = server
        self._state = folder / "shop.json"
        self.settings = folder / "settings.yaml"
        self.settings.write_text("{}\n")
        self.begin()

    def begin(self) -> None:
        self._state.write_text('{"healthy": true}')
        self._state.with_suffix(".log").write_text("")

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._state.read_text())
        return found

    @property
    def log(self) -> list[str]:
        return self._state.with_suffix(".log").read_text().splitlines()

    def file(self, document: dict[str, Any]) -> Path:
        text = json.dumps(document).replace(PYTHON, sys.executable).replace(SERVER, self._server)
        path = self.folder / "experiment.json"
        path.write_text(text)
        return path

    def experiment(self, document: dict[str, Any], **options: Any) -> ToolkitExperiment:
        from dataclasses import replace

        found = load_experiment(self.file(document))
        assert isinstance(found, ToolkitExperiment)
        return replace(found, settings=str(self.settings), **options)


@pytest.fixture
def shop(tmp_path: Path, toolkit_server: str, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv("SHOP_STATE", str(tmp_path / "shop.json"))
    monkeypatch.setenv("SHOP_WORD", "sesame")
    monkeypatch.syspath_prepend(str(FILES))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return Shop(tmp_path, toolkit_server)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
