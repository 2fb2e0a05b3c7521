"""JavaScript: calls that stop the event loop until they are done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import CERTAIN, LIKELY, POSSIBLE, Hit
from faultkit.code.rules.vocabulary.call_paths import callers_through
from faultkit.code.rules.vocabulary.fixed_files import is_fixed_file, is_kept_first
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once
from faultkit.code.rules.vocabulary.served_code import is_served

_SYNC = NamePattern(
    r"^(fs|child_process|zlib|crypto)\.(readFile|writeFile|appendFile|readdir|stat|exists|mkdir|unlink|copyFile|rename"
    r"|exec|execFile|spawn|gzip|gunzip|deflate|inflate|pbkdf2|scrypt|rm|access|open|read|write"
    r"|unzip|brotliCompress|brotliDecompress|inflateRaw|deflateRaw|generateKeyPair|hkdf|lstat|cp|rmdir|truncate|fsync)Sync$"
)
_PASSWORDS = NamePattern(r"^(bcrypt|bcryptjs|bcrypt-nodejs)\.(hash|compare|genSalt)Sync$")
_QUICK = NamePattern(r"^fs\.(exists|stat|lstat|access|mkdir|unlink|rename|rmdir|open)Sync$")
"""Calls that read or write no content of a file."""
_WHOLE_FILES = NamePattern(r"^fs\.(readFile|writeFile|appendFile|copyFile)Sync$")
_AT_START = NamePattern(
    r"^_?(connect|open|start|restart|init|boot|setup|register|migrate|listen)", re.IGNORECASE
)
_LIBRARIES_SYNC = NamePattern(
    r"^(xlsx\.(readFile|read|writeFile)|adm-zip\.(extractAllTo|writeZip|readFile|extractEntryTo)|sync-request|sync-fetch"
    r"|Atomics\.wait|deasync\..*|shelljs\.exec)$"
)
_WORK = NamePattern(
    r"^(pako\.(gzip|ungzip|inflate|deflate|inflateRaw|deflateRaw)|csv-parse/sync\.parse|csv-stringify/sync\.stringify"
    r"|adm-zip\.(getData|getEntries|toBuffer|readAsText)|node-xlsx\.(parse|build)|node-forge\.(pki|rsa)\b.*\.generateKeyPair"
    r"|cross-spawn\.(spawn\.)?sync|jpeg-js\.(decode|encode)|pngjs\.PNG\.sync\.(read|write)|canvas\.Canvas\.toBuffer"
    r"|lz-string\.\w+)$"
)
"""Work on data of any size that no worker does."""
_NAMED_SYNC = NamePattern(
    r"^(?!fs\b|fs-extra\b|better-sqlite3|node:sqlite|\.|~|self\b|graceful-fs|vm\b|require|react|@?typescript|prettier|glob\b)[@\w/.-]+[a-z]Sync$"
)
"""By custom, a function of a module whose name ends so stops the event loop. Files are left out."""
_CHEAP = NamePattern(
    r"(^|\.)(validateSync|existsSync|flushSync|parseSync|transformSync|isSync|randomFillSync|loadSync|resolveSync)$"
)
_SERVES = (
    "express", "fastify", "koa", "@nestjs/common", "@hapi/hapi", "hono", "kafkajs", "bullmq", "pg", "ioredis",
    "redis", "mongoose", "mongodb", "amqplib", "@aws-sdk/client-s3", "@aws-sdk/client-sqs", "nodemailer",
    "@prisma/client", "typeorm", "knex", "ws", "socket.io",
)  # fmt: skip
"""Modules of programs that serve many at once: there, an async function is one of several that run."""


def _is_known(name: str) -> bool:
    return any(each.match(name) for each in (_SYNC, _PASSWORDS, _LIBRARIES_SYNC))


def blocking_in_javascript(facts: Facts) -> Iterator[Hit]:
    """Yield such calls in handlers and async functions, and calls of functions of this text that make one."""
    seen = set[tuple[Scope, str]]()
    known = {*facts.calls_with_name(_is_known)}
    for call in facts.calls:
        is_known = call in known
        if not is_known and not _works(call):
            continue
        scope = facts.function_of(call)
        if scope is None or is_kept_first(call, facts):
            continue
        is_file = call.name.startswith("fs.")
        if frequency_of(call, facts) in ("request", "message"):
            short = _QUICK.match(call.name) or (is_file and is_fixed_file(call, facts))
            confidence = POSSIBLE if short or _by_name_alone(call) else CERTAIN
            yield Hit(call.span, f"{call.written}() stops every request until it is done", confidence)
        elif not is_known and not _serves(scope, facts):
            continue
        elif scope.is_async and (not is_file or _delays_others(call, scope, facts)):
            # Small files are read as fast as they are found; only requests wait for them.
            what = f"{call.written}() stops the event loop in an async function"
            yield Hit(call.span, what, _confidence(call, call, facts), "medium")
        elif not scope.is_async:
            for caller in callers_through(call, facts):
                around = facts.function_of(caller)
                if around is None or not around.is_async or (around, caller.written) in seen:
                    continue
                if not is_file or _delays_others(call, around, facts):
                    seen.add((around, caller.written))
                    what = f"{caller.written}() stops the event loop (it calls {call.written}())"
                    yield Hit(caller.span, what, _confidence(call, caller, facts), "medium")


def _confidence(call: Call, place: Call, facts: Facts) -> float:
    """Return how sure a finding is: children are waited for by scripts, too, which serve nothing else."""
    scope = facts.named_function_of(place)
    if (scope is not None and runs_once(scope)) or _by_name_alone(call):
        return POSSIBLE
    if call.name.startswith("fs.") and is_fixed_file(call, facts):
        return POSSIBLE
    makes_keys = call.method == "generateKeyPairSync"  # Most programs make their keys once.
    if not call.name.startswith("child_process.") and not makes_keys:
        return LIKELY
    serves = not makes_keys and ((scope is not None and bool(scope.owner)) or facts.imports_any(*_SERVES))
    return LIKELY if serves or is_served(place, facts) else POSSIBLE


_SERVERS = (
    "express",
    "fastify",
    "koa",
    "@nestjs/common",
    "@hapi/hapi",
    "hono",
    "kafkajs",
    "bullmq",
    "amqplib",
)


def _works(call: Call) -> bool:
    """Return whether a call does long work, by its name or by the custom of naming such functions."""
    return _WORK.match(call.name) is not None or (
        _NAMED_SYNC.match(call.name) is not None and _CHEAP.search(call.name) is None
    )


def _by_name_alone(call: Call) -> bool:
    """Return whether nothing but the end of its name says that a function blocks: how long is not known."""
    return not _is_known(call.name) and _WORK.match(call.name) is None


def _serves(scope: Scope, facts: Facts) -> bool:
    """Return whether others wait for a function: that of an object, or of a server, not of a script."""
    return bool(scope.owner) or facts.imports_any(*_SERVERS)


def _delays_others(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a whole file is read or written in a method of a server's class, which runs often."""
    if _WHOLE_FILES.match(call.name) is None or not scope.owner or runs_once(scope):
        return False
    if _AT_START.match(scope.short_name):
        return False
    return facts.imports_any(*_SERVES)
