"""Files of the user that are changed in place: whole or not at all, with their mode and owner, and only if
nobody has changed them meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import stat
from itertools import count
from pathlib import Path

from faultkit.base.errors import RunError

_numbers = count()


def replace_file(path: str, new: bytes, expected: bytes | None, *, backup: str | None = None) -> None:
    """`expected` is what the file has to hold (None: there is none), so that nobody's work is lost. With a
    backup, that is kept beside it."""
    target = Path(os.path.realpath(path))
    try:
        _check_unchanged(path, target, expected)
        if expected is None:
            target.parent.mkdir(parents=True, exist_ok=True)
        elif backup is not None:
            _put(target.with_name(target.name + backup), expected, like=target)
        _put(target, new, like=target if expected is not None else None, only_if=(path, expected))
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from error


def _put(
    target: Path, content: bytes, *, like: Path | None, only_if: tuple[str, bytes | None] | None = None
) -> None:
    beside = target.with_name(f".faultkit-{os.getpid()}-{next(_numbers)}.part")
    try:
        with open(beside, "xb") as file:
            if like is not None:
                _take_after(file.fileno(), os.stat(like))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if only_if is not None:
            _check_unchanged(only_if[0], target, only_if[1])
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _take_after(file: int, like: os.stat_result) -> None:
    """The mode, and the owner as far as we may give it away."""
    with contextlib.suppress(OSError, AttributeError):
        os.fchown(file, like.st_uid, like.st_gid)
    os.fchmod(file, stat.S_IMODE(like.st_mode))


def _check_unchanged(path: str, target: Path, expected: bytes | None) -> None:
    try:
        now: bytes | None = target.read_bytes()
    except FileNotFoundError:
        now = None
    if now != expected:
        raise RunError(f"{path}: somebody changed it meanwhile: nothing was written, try again")
