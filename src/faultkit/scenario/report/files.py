"""Reports to files and results back: the renderer by the extension, the file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

from faultkit.base.errors import InputError, RunError
from faultkit.plan import read_document
from faultkit.scenario.report.document import from_document, to_json, to_yaml
from faultkit.scenario.report.junit import render_junit
from faultkit.scenario.report.markdown import render_markdown
from faultkit.scenario.report.model import Report
from faultkit.scenario.report.text import render_text

_numbers = count()


def _render_html(report: Report) -> str:
    # By far the largest renderer, and most runs do without it.
    from faultkit.scenario.report.html import render_html

    return render_html(report)


RENDERERS: dict[str, Callable[[Report], str]] = {
    ".md": render_markdown,
    ".html": _render_html,
    ".json": to_json,
    ".yaml": to_yaml,
    ".yml": to_yaml,
    ".xml": render_junit,
    ".txt": render_text,
}
RESULT_EXTENSIONS = (".json", ".yaml", ".yml")
"""Those that `read_report` can read again."""


def check_report_path(path: str | os.PathLike[str], extensions: Iterable[str] = tuple(RENDERERS)) -> None:
    """To be asked before a run: whether a report can be written here, as far as one can know."""
    given, known = Path(path), tuple(extensions)
    extension = given.suffix.lower()
    if extension not in known:
        came = f'got "{extension}"' if extension else "got none"
        raise InputError(os.fspath(path), f"expected a file that ends in {', '.join(known)}, {came}")
    if given.is_dir():
        raise InputError(os.fspath(path), "expected a file, got a folder")
    if not given.parent.is_dir():
        raise InputError(os.fspath(path), f'expected a folder that exists, got "{given.parent}"')
    if not os.access(given.parent, os.W_OK):
        raise InputError(os.fspath(path), f'expected a folder to write in, got "{given.parent}"')


def render(report: Report, path: str | os.PathLike[str]) -> str:
    """The report as a file of this name holds it."""
    extension = Path(path).suffix.lower()
    if extension not in RENDERERS:
        check_report_path(path)
    return RENDERERS[extension](report)


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Rendered by its extension."""
    write_whole(path, render(report, path))


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """The whole text or nothing: a full disk leaves what was there before. What is no file, such as a pipe or
    a terminal, is written to and stays what it is."""
    # Half of a surrogate pair has no UTF-8, and a report must not end because of one.
    content = text.encode("utf-8", "backslashreplace")
    try:
        if _is_file(path):
            _replace(path, content)
        else:
            _write_through(path, content)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RunError(f"{os.fspath(path)}: the report cannot be written: {reason}") from error


def _is_file(path: str | os.PathLike[str]) -> bool:
    """Or becomes one."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


def _replace(path: str | os.PathLike[str], content: bytes) -> None:
    # A link stays a link: what it leads to is written.
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".faultkit-{os.getpid()}-{next(_numbers)}.part")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _write_through(path: str | os.PathLike[str], content: bytes) -> None:
    # Neither made nor cut to nothing, should it turn into a file meanwhile.
    with open(os.open(path, os.O_WRONLY | os.O_NOCTTY), "wb", buffering=0) as file:
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) or 0 :]


def read_report(path: str | os.PathLike[str]) -> Report:
    """A report from its results file, JSON or YAML."""
    source = os.fspath(path)
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(source, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise InputError(source, f"expected UTF-8 text, got byte {error.object[error.start]:#04x}") from None
    document = read_document(text, source)
    try:
        return from_document(document)
    except InputError as error:
        place = f"{source}: {error.path}" if error.path else source
        raise InputError(place, error.problem) from None
