"""Rust: calls that keep a thread of the runtime waiting or busy in async code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import CERTAIN, LIKELY, POSSIBLE, Hit
from faultkit.code.rules.vocabulary.blocking_clients import is_diesel
from faultkit.code.rules.vocabulary.call_paths import callers_through
from faultkit.code.rules.vocabulary.fixed_files import is_fixed_file
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import runs_once
from faultkit.code.rules.vocabulary.served_code import is_served

_RUST = NamePattern(
    r"^(std\.thread\.sleep|std\.sync\.mpsc\.Receiver\.recv(_timeout)?|std\.net\.TcpStream\.connect|reqwest\.blocking\..*|ureq\..*\.(call|send\w*)"
    r"|std\.process\.Command\b.*\.(output|status|wait|wait_with_output)"
    r"|argon2\..*(hash_password|verify_password|hash_password_into)|bcrypt\.(hash|verify|hash_with_result)"
    r"|image\.(open|load_from_memory\w*|ImageReader\.\w+)|image\..*\.(resize\w*|thumbnail\w*|save\w*|write_to|decode)"
    r"|postgres\.Client\b.*\.(query\w*|execute)|redis\.Client\b.*\.get_connection|zip\.ZipArchive\b.*\.extract"
    r"|scrypt\.(scrypt|Scrypt\.\w+)|pbkdf2\.\w+|rusqlite\.Connection\b.*\.(execute|query_row|query_map|execute_batch)"
    r"|(futures\.executor|futures_executor|tokio\.runtime\.(Runtime|Handle)\b.*)\.block_on)$"
)
_RUST_FILES = NamePattern(
    r"^std\.fs\.(read|write|read_to_string|copy|read_dir|remove_dir_all|create_dir_all|File\.(open|create))$"
)
_RUST_ELSEWHERE = ("tokio.task.block_in_place", "tokio.task.spawn_blocking")
_ELSEWHERE = frozenset(
    ("spawn_blocking", "block_in_place", "asyncify", "unblock", "run_blocking", "interact", "spawn_fifo")
)
_PACKED = NamePattern(
    r"^(flate2|zstd|brotli|bzip2|xz2|liblzma|lz4_flex|lz4|snap|libflate|zip|tar|async_compression\.blocking|lzma_rs|sevenz_rust)\."
    r"(?:.*\.)?(read|read_to_end|read_to_string|read_exact|write_all|finish|unpack|unpack_in|entries|by_index|by_name|extract"
    r"|\w*(?:de|en)code_all|\w*(?:de)?compress\w*|copy_(?:de|en)code|decompress_size_prepended|BrotliDecompress)$"
    r"|^std\.io\.copy$"
)
"""Archives and compressed data, which take as long as their content is large."""
_HEAVY = NamePattern(
    r"^(ring\.pbkdf2\.(derive|verify)|rsa\.RsaPrivateKey\.new\w*|openssl\.rsa\.Rsa\.generate\w*|rust_argon2\..*|sha_crypt\.\w+"
    r"|password_auth\.(generate_hash|verify_password)|calamine\.open_workbook\w*|rust_xlsxwriter\..*\.save\w*|umya_spreadsheet\..*\.(read|write)"
    r"|lopdf\.Document\b.*\.(load\w*|save\w*)|pdf_extract\.\w+|printpdf\..*\.save\w*|resvg\.render|webp\.Encoder\b.*\.encode\w*"
    r"|fast_image_resize\..*\.resize|tesseract\..*\.(recognize|get_text)|polars\..*\.(finish|collect)|ort\..*\.run|git2\.Repository\.\w*(clone|fetch)\w*"
    r"|ssh2\.Session\b.*\.(handshake|userauth_\w+|channel_session|sftp|exec|scp_\w+)|lettre\.(transport\.\w+\.)?(Smtp|Sendmail)Transport\b.*\.send\w*"
    r"|ldap3\.LdapConn\b.*\.\w+|imap\.\w+|mysql\.(Pool|Conn)\b.*\.(new|get_conn|query\w*|exec\w*)|r2d2\.Pool\b.*\.get"
    r"|(minreq|attohttpc|isahc)\.(get|post|put|delete|Request)\b.*\.send|isahc\.(get|post)|curl\.easy\.\w+\b.*\.perform"
    r"|std\.net\.(TcpStream|UdpSocket)\b.*\.(read\w*|write_all|recv\w*)|std\.thread\.spawn\(\)\.join|std\.sync\.(Condvar|Barrier)\b.*\.wait\w*"
    r"|crossbeam(_channel)?\..*\.recv|flume\..*\.recv|dns_lookup\.\w+|rumqttc\.Client\b.*\.publish)$"
)
"""Work of the processor, and libraries that wait for others and have no async calls."""
_OF_STREAMS = frozenset(("read_to_end", "read_to_string", "read_exact", "read_line", "write_all"))
_FROM_STD = lazy_regex(r"\buse\s+std::(?:\{[^;]*?\b)?io::(?:\{[^}]*\b)?(?:Read|Write|BufRead|prelude|\*)")
_ASYNC_STREAMS = (b"AsyncRead", b"AsyncWrite", b"AsyncBufRead", b"tokio::io")
_IN_MEMORY = lazy_regex(r"Cursor|&\[|\bas_bytes\(|stdin|stdout|stderr")


_RUSQLITE = frozenset(("query_row", "query_map", "execute_batch", "query_and_then"))


def blocking_in_rust(facts: Facts) -> Iterator[Hit]:
    """Yield such calls, and calls of functions of this text that make one."""
    if not any(scope.is_async for scope in facts.scopes):
        return
    uses_sqlite = (
        re.search(r"(?<!tokio_)rusqlite", facts.whole_text) is not None and ".call(" not in facts.whole_text
    )
    seen: set[tuple[Scope | None, str]] = set()
    for call in facts.calls:
        waits = _RUST.match(call.name) is not None or (call.method in _RUSQLITE and uses_sqlite)
        waits = waits or is_diesel(call, facts)
        works = not waits and (
            _PACKED.match(call.name) is not None
            or _HEAVY.match(call.name) is not None
            or _is_std_stream(call, facts)
            or _looks_up(call, facts)
        )
        if not (waits or works or _RUST_FILES.match(call.name)) or call.is_awaited:
            continue
        if _is_on_thread(call, facts):
            continue
        if _is_in_async(call, facts):
            if waits:
                what = f"{call.written}() stops a thread of the runtime until it is done"
                yield Hit(call.span, what, CERTAIN)
            elif works:
                around = facts.named_function_of(call)
                # What is done once at the start delays no one.
                if (around, "") not in seen and (around is None or not runs_once(around)):
                    seen.add((around, ""))
                    what = f"{call.written}() keeps a thread of the runtime busy until it is done"
                    yield Hit(call.span, what, _of_work(call, facts))
            elif (once := facts.named_function_of(call)) is None or not runs_once(once):
                what = f"{call.written}() waits for the disk on a thread of the runtime"
                yield Hit(call.span, what, _of_file(call, call, facts), "low")
            continue
        for caller in callers_through(call, facts):
            around = facts.named_function_of(caller)
            if not _is_in_async(caller, facts) or caller.is_awaited or _is_on_thread(caller, facts):
                continue
            heavy = waits or works
            if around is None or runs_once(around) or (around, caller.written) in seen:
                continue
            if not heavy and is_fixed_file(call, facts):
                continue
            seen.add((around, caller.written))
            what = f"{caller.written}() stops a thread of the runtime (it calls {call.written}())"
            confidence = _of_work(call, facts) if heavy else _of_file(call, caller, facts)
            yield Hit(caller.span, what, confidence, None if heavy else "low")


def _of_file(call: Call, place: Call, facts: Facts) -> float:
    """Return how sure a finding about a file is: it matters where many wait, and if content is read."""
    if call.method in _QUICK or is_fixed_file(call, facts):
        return POSSIBLE
    return LIKELY if is_served(place, facts) else POSSIBLE


_FAST = lazy_regex(r"^(lz4_flex|lz4|snap)\.")
"""Compression that is made to be fast."""
_WAITING = lazy_regex(
    r"File\b|Stream\b|Socket\b|Decoder\b|Encoder\b|Archive\b|\bby_(?:index|name)\(|\bChild\w*|\bstd(?:in|out)\b"
    r"|\bopen\(|\bconnect\(|\baccept\(|\bResponse\b"
)


def _of_work(call: Call, facts: Facts) -> float:
    """Return how sure a finding about work or a stream is: what is read or written must be known."""
    if _FAST.match(call.name):
        return POSSIBLE
    if call.method not in _OF_STREAMS or _RUST.match(call.name) or _PACKED.match(call.name):
        return LIKELY
    scope = facts.named_function_of(call)
    if scope is not None and "set_read_timeout(" in facts.text(scope.body):
        return POSSIBLE
    made = [each.value.text for each in facts.assignments_to(call.receiver_written, call) if each.value]
    made += [] if scope is None else [e.type for e in scope.parameters if e.name == call.receiver_written]
    return LIKELY if any(_WAITING.search(text) for text in [*made, call.name]) else POSSIBLE


_QUICK = frozenset(("create_dir_all", "read_dir"))
"""Calls that read or write no content of a file."""


_IN_PLACE = frozenset(
    (
        "map", "map_err", "and_then", "is_some_and", "is_ok_and", "filter", "filter_map", "flat_map",
        "for_each", "any", "all", "find", "find_map", "fold", "unwrap_or_else", "ok_or_else",
        "or_else", "then", "map_or", "map_or_else", "try_for_each", "try_fold", "retain", "inspect",
        "or_insert_with", "get_or_insert_with",
    )
)  # fmt: skip
"""Methods that call a closure before they return."""


def _is_in_async(place: Call, facts: Facts) -> bool:
    """Return whether async code runs a call, also in a closure that is called where it stands."""
    scope = facts.function_of(place)
    while scope is not None and not scope.is_async and scope.is_anonymous:
        around = facts.calls_around(scope)
        if not around or around[-1].method not in _IN_PLACE:
            return False
        scope = scope.outer
    return scope is not None and scope.is_async


def _is_on_thread(call: Call, facts: Facts) -> bool:
    return any(
        each.name in _RUST_ELSEWHERE
        or each.method in _ELSEWHERE
        or each.name in ("std.thread.spawn", "actix_web.web.block", "rayon.spawn")
        for each in facts.calls_around(call)
    )


def _looks_up(call: Call, facts: Facts) -> bool:
    """Return whether a name is looked up by the resolver of `std::net`, and not once at the start."""
    scope = facts.named_function_of(call)
    return call.method == "to_socket_addrs" and scope is not None and not runs_once(scope)


@lru_cache(maxsize=4)
def _uses_std_streams(facts: Facts) -> bool:
    """Return whether the methods of streams in this text are those of `std::io`, which block."""
    source = facts.syntax.source
    if b"io::" not in source or any(word in source for word in _ASYNC_STREAMS):
        return False
    return _FROM_STD.search(facts.whole_text) is not None


def _is_std_stream(call: Call, facts: Facts) -> bool:
    """Return whether a call reads or writes a stream of `std::io` to its end: a file, a socket, a decoder."""
    if call.method not in _OF_STREAMS or call.is_awaited or not call.arguments:
        return False
    made = call.receiver_written + "".join(
        each.value.text[:200]
        for each in facts.assignments_to(call.receiver_written, call)
        if each.value is not None
    )
    return _uses_std_streams(facts) and _IN_MEMORY.search(made) is None and not _is_buffer(call, facts)


def _is_buffer(call: Call, facts: Facts) -> bool:
    """Return whether what is written to is a vector of bytes."""
    made = [
        each.value.text
        for each in facts.assignments_to(call.receiver_written, call)
        if each.value is not None
    ]
    return any(text.startswith(("Vec::", "vec!", "String::", "BytesMut")) for text in made)
