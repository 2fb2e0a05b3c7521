"""Files: read a text whole; write one whole or not at all; keep a path within a folder; check that there are
descriptors to open.

New content goes to a file beside the target, which then takes the target's name in one step (rename(2)), so a
crash or a full disk leaves what was there before. A symbolic link stays a link: the file that it leads to is
replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

from faultkit.base.descriptors import SHORTAGES
from faultkit.base.errors import InputError, RunError

_numbers = count()


def replace_file(
    path: str | os.PathLike[str],
    content: bytes,
    *,
    like: str | os.PathLike[str] | None = None,
    private: bool = False,
    before: Callable[[], None] = lambda: None,
) -> None:
    """Write `content` to `path`; raise OSError and leave the file as it was if that fails.

    like:    a file whose mode the new one gets, and its owner as far as that is allowed
    private: only the owner may read the new file
    before:  called once all is written, just before the file is replaced; what it raises prevents that"""
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".faultkit-{os.getpid()}-{next(_numbers)}.part")
    try:
        with open(beside, "xb", opener=open_private if private else None) as file:
            if like is not None:
                _copy_mode_and_owner(file.fileno(), os.stat(like))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        before()
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def open_private(path: str, flags: int) -> int:
    """Open a file; a new one may be read by its owner only. For files that hold secrets, as `opener`."""
    return os.open(path, flags, 0o600)


def _copy_mode_and_owner(file: int, like: os.stat_result) -> None:
    with contextlib.suppress(OSError, AttributeError):
        os.fchown(file, like.st_uid, like.st_gid)
    os.fchmod(file, stat.S_IMODE(like.st_mode))


def write_output(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write a report, or other output, to the path that a user gave; raise RunError if that fails.

    A file is replaced whole; with `private`, only its owner may read it. Anything else, such as a pipe or a
    terminal, is written to and stays that."""
    # Half of a surrogate pair has no UTF-8, and a report must not fail because of one.
    content = text.encode("utf-8", "backslashreplace")
    try:
        if _is_file_or_missing(path):
            replace_file(path, content, private=private)
        else:
            _write_through(path, content)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RunError(f"{os.fspath(path)}: the report cannot be written: {reason}") from error


def _is_file_or_missing(path: str | os.PathLike[str]) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


def _write_through(path: str | os.PathLike[str], content: bytes) -> None:
    # Neither created nor truncated, in case a file has taken the name since.
    with open(os.open(path, os.O_WRONLY | os.O_NOCTTY), "wb", buffering=0) as file:
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) or 0 :]


def check_output_path(path: str | os.PathLike[str], extensions: Iterable[str]) -> None:
    """Raise InputError if output cannot be written to `path`, as far as that is known before a run."""
    given, known = Path(path), tuple(extensions)
    extension = given.suffix.lower()
    if extension not in known:
        came = f'got "{extension}"' if extension else "got none"
        raise InputError(os.fspath(path), f"expected a file that ends in {', '.join(known)}, {came}")
    if os.path.isdir(given):
        raise InputError(os.fspath(path), "expected a file, got a folder")
    if not os.path.isdir(given.parent):
        raise InputError(os.fspath(path), f'expected a folder that exists, got "{given.parent}"')
    if not os.access(given.parent, os.W_OK):
        raise InputError(os.fspath(path), f'expected a folder to write in, got "{given.parent}"')
    try:
        # Some folders only claim that they can be written in: /proc, full disks, mounts without writes.
        with tempfile.TemporaryFile(dir=given.parent) as probe:
            probe.write(b"-")
    except OSError as error:
        # The folder exists: such a reason, as /proc gives it, would be untrue.
        is_missing = error.errno == errno.ENOENT
        reason = "no file can be made in it" if is_missing else (error.strerror or str(error)).lower()
        problem = f'expected a folder to write in, got "{given.parent}": {reason}'
        raise InputError(os.fspath(path), problem) from None


def check_outputs_apart(
    outputs: Iterable[str | os.PathLike[str]], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Raise InputError for an output that would replace a file that is read, or another output."""
    read, written = {os.path.realpath(path) for path in inputs}, set[str]()
    for path in outputs:
        real = os.path.realpath(path)
        if real in read:
            raise InputError(os.fspath(path), "expected a file of its own for output, got one that is read")
        if real in written:
            raise InputError(os.fspath(path), "expected a file for each output, got the same one twice")
        written.add(real)


def rewrite_file(path: str, new: bytes, expected: bytes | None, *, backup: str | None = None) -> None:
    """Change a user's file in place, if it still holds `expected` (None: it does not exist yet).

    Its mode and owner stay. `backup` is a suffix: the old content is kept in a file of that name beside it.
    Raises RunError if the file was changed meanwhile or cannot be written."""
    target = Path(os.path.realpath(path))
    like = target if expected is not None else None
    try:
        _check_unchanged(path, target, expected)
        if expected is None:
            target.parent.mkdir(parents=True, exist_ok=True)
        elif backup is not None:
            replace_file(target.with_name(target.name + backup), expected, like=target)
        replace_file(target, new, like=like, before=lambda: _check_unchanged(path, target, expected))
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from error


def _check_unchanged(path: str, target: Path, expected: bytes | None) -> None:
    try:
        now: bytes | None = target.read_bytes()
    except FileNotFoundError:
        now = None
    if now != expected:
        raise RunError(f"{path}: it changed meanwhile: nothing was written, try again")


def path_within(path: str | os.PathLike[str], root: str | os.PathLike[str]) -> str:
    """Return the path with its links resolved; raise ValueError if it is not in the folder `root`.

    Whether the path exists is not part of the error, because a caller may not be allowed to know it."""
    found, top = os.path.realpath(path), os.path.realpath(root)
    if os.path.commonpath((found, top)) != top:
        raise ValueError(f"expected a path in {top}")
    return found


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a UTF-8 file, without a byte order mark."""
    source = os.fspath(path)
    try:
        return Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(source, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise InputError(source, f"expected UTF-8 text, got byte {error.object[error.start]:#04x}") from None
    except ValueError:  # A zero byte, or half of a surrogate pair.
        raise InputError(source, "expected a name that a file can have") from None


def require_descriptors(number: int) -> None:
    """Check that this process can open `number` more files or sockets. Raises RunError if not."""
    opened: list[int] = []
    try:
        for _ in range(number):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno not in SHORTAGES:
            raise
        found = f"expected {number} to be free, got {len(opened)}"
        raise RunError(f"too few descriptors: {found} (raise the limit by `ulimit -n`)") from None
    finally:
        for descriptor in opened:
            os.close(descriptor)
