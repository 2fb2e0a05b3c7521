"""Finds blocking calls in async code, which stop the whole event loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.rule import (
    CERTAIN,
    CSHARP,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    PYTHON,
    RUST,
    Hit,
    Rule,
    Severity,
)
from faultkit.code.rules.vocabulary.blocking_clients import (
    blocks_in_csharp,
    blocks_on_jvm,
    is_diesel,
    is_done_by_then,
    is_referred_to,
)
from faultkit.code.rules.vocabulary.blocking_python import (
    FILES,
    TO_THREADS,
    WAITS,
    asks,
    is_aws_call,
    is_blocking_stub,
    is_used_often,
)
from faultkit.code.rules.vocabulary.blocking_queries import waits_for_ef
from faultkit.code.rules.vocabulary.call_paths import callers_of_function, callers_through
from faultkit.code.rules.vocabulary.given_clients import name_by_giver
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once

_SYNC = NamePattern(
    r"^(fs|child_process|zlib|crypto)\.(readFile|writeFile|appendFile|readdir|stat|exists|mkdir|unlink|copyFile|rename"
    r"|exec|execFile|spawn|gzip|gunzip|deflate|inflate|pbkdf2|scrypt|rm|access|open|read|write"
    r"|unzip|brotliCompress|brotliDecompress|inflateRaw|deflateRaw|generateKeyPair|hkdf|lstat|cp|rmdir|truncate|fsync)Sync$"
)
_PASSWORDS = NamePattern(r"^(bcrypt|bcryptjs|bcrypt-nodejs)\.(hash|compare|genSalt)Sync$")
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
_CSHARP = NamePattern(
    r"^(Thread\.Sleep|Task\.WaitAll|Task\.WaitAny|File\.(ReadAll|WriteAll|AppendAll)(Text|Lines|Bytes)"
    r"|(StreamReader|File\.OpenText\(\))\.ReadToEnd|.*\bSaveChanges|SqlCommand\.Execute(Reader|Scalar|NonQuery)"
    r"|BCrypt(\.Net\.BCrypt)?\.(Verify|HashPassword|EnhancedVerify)|Image\.(Load|Save\w*)|SmtpClient\.Send|ZipFile\.\w+"
    r"|(\w+\.)?SemaphoreSlim\.Wait|(\w+\.)?Task\.Wait|Npgsql(DataSource\.OpenConnection|Command\.Execute\w+(?<!Async))"
    r"|(My)?SqlCommand\.Execute(Reader|Scalar|NonQuery)|.*\.GetDatabase\(\)\.(String|Hash|List|Set|Key|SortedSet)(?!\w*Async)\w+"
    r"|Rfc2898DeriveBytes\.Pbkdf2|Dns\.GetHost\w+|TcpClient\.Connect"
    r"|Process\b.*\.WaitForExit|(HttpClient|WebClient)\.(Send|DownloadString|DownloadData))$"
)
_KOTLIN = NamePattern(
    r"^((java\.lang\.)?Thread\.sleep|kotlinx\.coroutines\.runBlocking|java\.net\.URL\.(readText|readBytes|openStream)"
    r"|okhttp3\.OkHttpClient\b.*\.newCall\(\)\.execute|java\.sql\.DriverManager\.getConnection"
    r"|(java\.lang\.)?ProcessBuilder\b.*\.waitFor"
    r"|.*\bRestTemplate\.\w+|java\.net\.http\.HttpClient\b.*\.send"
    r"|.*\bBCrypt\.(hashpw|checkpw)|.*\bBCryptPasswordEncoder(\(\))?\.(matches|encode)"
    r"|javax\.crypto\.SecretKeyFactory\b.*\.generateSecret|javax\.imageio\.ImageIO\.(read|write)"
    r"|java\.util\.concurrent\.(CountDownLatch|Future|CompletableFuture|LinkedBlockingQueue|ArrayBlockingQueue)\b.*"
    r"\.(await|get|join|take)|com\.mongodb\.client\.\w+\.find"
    r"|(jakarta|javax)\.mail\.Transport\.send|java\.net\.URL\b.*\.openConnection\(\)\.\w+)$"
)
_KOTLIN_TEMPLATES = re.compile(
    r".*\b(Named)?(Parameter)?JdbcTemplate\.(query\w*|update|batchUpdate|execute)"
    r"|org\.jetbrains\.exposed\.sql\.transactions\.transaction$"
)
_KOTLIN_FILES = re.compile(
    r"^java\.(io\.File|nio\.file\.Files)\b.*\.(readText|readBytes|readLines|writeText|writeBytes|appendText|copyTo"
    r"|readString|writeString|readAllBytes|readAllLines|copy|walk|deleteRecursively|inputStream|outputStream|forEachLine"
    r"|useLines|bufferedReader|newInputStream|newBufferedReader|lines)$"
)
_JDBC = frozenset(("executeQuery", "executeUpdate", "executeBatch", "executeLargeUpdate"))
_ON_SCREEN = re.compile(r"(^|\.)(viewModelScope|lifecycleScope)$")
"""Scopes of Android, whose coroutines run on the thread of the screen."""
_KOTLIN_INLINE = frozenset(
    (
        "let", "run", "apply", "also", "use", "with", "forEach", "map", "mapNotNull", "filter", "flatMap",
        "synchronized", "runCatching", "withLock", "repeat", "coroutineScope", "supervisorScope", "launch",
        "async", "withTimeout", "withTimeoutOrNull", "withContext", "onEach", "collect", "withPermit",
        "useLines",
    )
)  # fmt: skip
"""Functions that run a lambda where they stand, or as a coroutine."""
_LEVELS = 2
"""Levels of functions of the same text through which a blocking call is followed."""
_RUST_ELSEWHERE = ("tokio.task.block_in_place", "tokio.task.spawn_blocking")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "python":
        yield from _python(facts)
    elif facts.language == "rust":
        yield from _rust(facts)
    elif facts.language == "csharp":
        yield from _csharp(facts)
    elif facts.language == "kotlin":
        yield from _kotlin(facts)
    elif facts.language == "java":
        yield from _java(facts)
    else:
        yield from _javascript(facts)


def _python(facts: Facts) -> Iterator[Hit]:
    if not any(scope.is_async for scope in facts.scopes):
        return
    reported: set[tuple[Scope, Call | str]] = set()
    for call in facts.calls:
        waits = _is_blocking(call, facts)
        if not waits and not FILES.match(call.name):
            continue
        scope = facts.function_of(call)
        if scope is None or call.is_awaited or _is_elsewhere(call, facts) or _is_meant(call, facts):
            continue
        if not scope.is_async:
            if waits:
                yield from _through(call, call, facts, _LEVELS)
            else:
                yield from _files_through(call, facts)
        elif not waits:
            yield Hit(call.span, f"{call.written}() reads a file while the event loop waits", LIKELY, "low")
        else:
            # A session or client is used many times: one finding for each function is enough.
            often = is_used_often(call.name)
            reported_as = (scope, call.written.removeprefix("self.").partition(".")[0] if often else call)
            if reported_as not in reported:
                # A client that is known by the names of its arguments alone may be an async one.
                confidence = CERTAIN if asks(call.name) or not is_aws_call(call, facts) else LIKELY
                yield Hit(call.span, f"{call.written}() stops the event loop until it is done", confidence)
            reported.add(reported_as)


def _files_through(call: Call, facts: Facts) -> Iterator[Hit]:
    """Yield calls in handlers of requests and messages of a function that reads a file."""
    for caller in callers_through(call, facts, 1):
        around = facts.function_of(caller)
        if around is None or not around.is_async or caller.is_awaited or _is_elsewhere(caller, facts):
            continue
        if frequency_of(caller, facts) in ("request", "message"):
            what = f"{caller.written}() reads a file while the event loop waits (it calls {call.written}())"
            yield Hit(caller.span, what, LIKELY, "low")


def _is_blocking(call: Call, facts: Facts) -> bool:
    name = call.name
    head, dot, rest = name.partition(".")
    if head.endswith("Dep") and (alias := _alias(head, facts)):
        name = alias + dot + rest
    if name in WAITS or asks(name) or is_blocking_stub(call, facts) or is_aws_call(call, facts):
        return True
    given = name_by_giver(call, facts)
    return bool(given) and (given in WAITS or asks(given))


def _is_meant(call: Call, facts: Facts) -> bool:
    """Return whether a linter's rule for blocking calls is switched off there: `# noqa: ASYNC251`."""
    return re.search(r"noqa:[\w\s,]*\bASYNC", facts.comment_at(call)) is not None


def _alias(name: str, facts: Facts) -> str:
    """Return the type of `SessionDep = Annotated[Session, Depends(…)]`."""
    for each in facts.assignments:
        found = re.match(r"Annotated\[(\w+)", each.value.text) if each.value is not None else None
        if each.scope is None and name in each.targets and found is not None:
            return facts.imports.names.get(found[1], found[1])
    return ""


def _is_elsewhere(call: Call, facts: Facts) -> bool:
    """Return whether a thread runs it: `to_thread(lambda: get(url))`."""
    return any(each.method in TO_THREADS for each in facts.calls_around(call))


def _through(inner: Call, blocking: Call, facts: Facts, levels: int) -> Iterator[Hit]:
    """Yield calls in async code of functions of this text that contain a blocking call."""
    scope = facts.named_function_of(inner)
    if scope is None or scope.is_async or facts.function_of(inner) is not scope or levels == 0:
        return
    for caller in callers_of_function(scope, facts):
        around = facts.function_of(caller)
        if around is None or around is scope or caller.is_awaited or _is_elsewhere(caller, facts):
            continue
        if around.is_async:
            what = f"{caller.written}() stops the event loop until it is done (it calls {blocking.written}())"
            yield Hit(caller.span, what, LIKELY)
        else:
            yield from _through(caller, blocking, facts, levels - 1)


def _kotlin(facts: Facts) -> Iterator[Hit]:
    told: set[tuple[Scope | None, str]] = set()
    for call in facts.calls:
        scope = facts.named_function_of(call)
        if scope is not None and _KOTLIN_FILES.match(call.name) and _stops_coroutine(call, facts):
            yield Hit(
                call.span, f"{call.written}() waits for the disk on the thread of a coroutine", LIKELY, "low"
            )
            continue
        mild: Severity | None = "low" if _KOTLIN_FILES.match(call.name) else None
        if scope is None or not (mild or _blocks_in_kotlin(call, facts)):
            continue
        if _stops_coroutine(call, facts):
            # A statement is prepared, sent and read: one finding for each function is enough.
            if (scope, "") not in told:
                told.add((scope, ""))
                yield Hit(
                    call.span, f"{call.written}() blocks the thread of a coroutine until it is done", LIKELY
                )
            continue
        if scope.is_async:
            continue
        for caller in callers_through(call, facts):
            around = facts.named_function_of(caller)
            if (around, caller.written) not in told and _stops_coroutine(caller, facts):
                told.add((around, caller.written))
                what = f"{caller.written}() blocks the thread of a coroutine (it calls {call.written}())"
                yield Hit(caller.span, what, LIKELY, mild)


def _blocks_in_kotlin(call: Call, facts: Facts) -> bool:
    if _KOTLIN.match(call.name) or _KOTLIN_TEMPLATES.match(call.name) or blocks_on_jvm(call):
        return True
    return call.method in _JDBC and facts.imports_any("java.sql", "javax.sql")


def _stops_coroutine(call: Call, facts: Facts) -> bool:
    """Return whether a coroutine runs a call on its own thread, which other coroutines need."""
    scope = facts.named_function_of(call)
    outer = facts.route_of(call) or scope
    if scope is None or outer is None:
        return False
    around = [
        each
        for each in facts.calls_around(call)
        if is_within(each.span, outer.body)
        and any(
            argument.value.shape == "function" and is_within(call.span, argument.value.span)
            for argument in each.arguments
        )
    ]
    on_screen = any(
        each.method in ("launch", "async") and _ON_SCREEN.search(each.receiver_written) for each in around
    )
    is_route = outer.route is not None and outer.route.framework == "ktor"
    if not scope.is_async and not on_screen and not is_route:
        return False
    on_pool = any("Dispatchers" in facts.text(each.callee) for each in around) or any(
        re.search(r"\bIO\b|[dD]ispatcher|Default|[eE]xecutor", argument.value.text.partition("{")[0])
        or (each.method == "withContext" and argument.value.shape != "function")
        for each in around
        for argument in each.arguments
        if argument.value.text != "NonCancellable"
    )
    if on_pool or not all(each.method in _KOTLIN_INLINE for each in around):
        return False
    return is_route or on_screen or not _is_run_on_pool(scope, facts)


def _is_run_on_pool(scope: Scope, facts: Facts, levels: int = 3) -> bool:
    """Return whether all callers in this text run a function on threads that may wait."""
    callers = [call for call in facts.callers_of(scope) if facts.named_function_of(call) is not scope]
    if not callers or levels == 0:
        return False
    return all(
        any(
            re.search(
                r"\bIO\b|[dD]ispatcher|[eE]xecutor",
                facts.text(each.callee) + argument.value.text.partition("{")[0],
            )
            for each in facts.calls_around(call)
            for argument in each.arguments
        )
        or (
            (outer := facts.named_function_of(call)) is not None and _is_run_on_pool(outer, facts, levels - 1)
        )
        for call in callers
    )


_JAVA = re.compile(
    r"^((java\.lang\.)?Thread\.sleep|.*\bJdbcTemplate\.\w+|.*\bRestTemplate\.\w+|java\.nio\.file\.Files\.(read|write)\w+"
    r"|.*\.(bodyToMono|bodyToFlux|toEntity|Mono\.\w+)\(\)(\.\w+\(\))*\.block|java\.net\.http\.HttpClient\b.*\.send"
    r"|(java\.util\.concurrent\.)?(Completable|Listenable)?Future\.(get|join))$"
)
_BLOCK = ("block", "blockFirst", "blockLast", "blockOptional")
_ANNOTATIONS = re.compile(r"@\w+(\([^()]*\))?")
_REACTIVE = re.compile(r"\b(Mono|Flux|Uni|Multi|Single|Flowable|Completable)\s*<")
_ON_POOL = re.compile(r"subscribeOn|publishOn|boundedElastic|Schedulers\.")


def _java(facts: Facts) -> Iterator[Hit]:
    """Yield blocking calls in methods that return a Mono or Flux: they run on the few threads of the loop."""
    if not facts.imports_any("reactor.core", "io.netty", "io.vertx", "io.smallrye.mutiny", "io.reactivex"):
        return
    for call in facts.calls:
        scope = facts.named_function_of(call)
        blocks = call.method in _BLOCK and not call.arguments
        if scope is None or not (blocks or _JAVA.match(call.name) or blocks_on_jvm(call)):
            continue
        if is_done_by_then(call, facts):
            continue
        if _is_on_loop(call, scope, facts):
            what = f"{call.written}() blocks a thread of the event loop until it is done"
            yield Hit(call.span, what, LIKELY)
            continue
        if _is_reactive(scope, facts):
            if not _ON_POOL.search(facts.text(scope.span)):
                what = f"{call.written}() blocks a thread of the event loop until it is done"
                yield Hit(call.span, what, LIKELY)
            continue
        for other in facts.scopes:
            if not other.name or not _is_reactive(other, facts) or not is_referred_to(scope, other, facts):
                continue
            if not _ON_POOL.search(facts.text(other.span)):
                what = f"{call.written}() blocks a thread of the event loop ({other.short_name}() runs it)"
                yield Hit(call.span, what, LIKELY)
                break
        for caller in callers_through(call, facts):
            around = facts.named_function_of(caller)
            if around is None or not (_is_reactive(around, facts) or _is_on_loop(caller, around, facts)):
                continue
            if _ON_POOL.search(facts.text(around.span)):
                continue
            what = f"{caller.written}() blocks a thread of the event loop (it calls {call.written}())"
            yield Hit(caller.span, what, LIKELY)


def _is_reactive(scope: Scope, facts: Facts) -> bool:
    """Return whether a method returns a Mono or another value that comes later."""
    head = _ANNOTATIONS.sub("", facts.text(scope.head))
    return _REACTIVE.search(head.partition("(")[0]) is not None


_NETTY = frozenset(("channelRead", "channelRead0", "messageReceived", "userEventTriggered", "channelActive"))
_VERTX = frozenset(
    ("handler", "consumer", "setTimer", "setPeriodic", "onSuccess", "requestHandler", "bodyHandler")
)


def _is_on_loop(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the loop of Netty or Vert.x runs a call."""
    around = facts.calls_around(call)
    if facts.imports_any("io.netty") and scope.short_name in _NETTY:
        return not any(each.method in ("submit", "execute", "runAsync", "supplyAsync") for each in around)
    if not facts.imports_any("io.vertx") or any(each.method == "executeBlocking" for each in around):
        return False
    return any(each.method in _VERTX for each in around)


def _csharp(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        blocks = _CSHARP.match(call.name) or blocks_in_csharp(call, facts) or waits_for_ef(call, facts)
        if not blocks or call.is_awaited:
            continue
        mild: Severity | None = "low" if call.name.startswith(("File.", "StreamReader.")) else "medium"
        if facts.is_in_async(call):
            if not _is_in_task(call, facts):
                what = f"{call.written}() keeps a thread of the pool waiting in async code"
                yield Hit(call.span, what, LIKELY, mild)
        elif mild != "low":
            for caller in callers_through(call, facts):
                if facts.is_in_async(caller) and not caller.is_awaited and not _is_in_task(caller, facts):
                    what = (
                        f"{caller.written}() keeps a thread of the pool waiting (it calls {call.written}())"
                    )
                    yield Hit(caller.span, what, LIKELY, mild)


def _is_in_task(call: Call, facts: Facts) -> bool:
    return any(each.name in ("Task.Run", "Task.Factory.StartNew") for each in facts.calls_around(call))


_RUSQLITE = frozenset(("query_row", "query_map", "execute_batch", "query_and_then"))


def _rust(facts: Facts) -> Iterator[Hit]:
    uses_sqlite = (
        re.search(r"(?<!tokio_)rusqlite", facts.whole_text) is not None and ".call(" not in facts.whole_text
    )
    told: set[tuple[Scope | None, str]] = set()
    for call in facts.calls:
        waits = _RUST.match(call.name) is not None or (call.method in _RUSQLITE and uses_sqlite)
        waits = waits or is_diesel(call, facts)
        if (not waits and not _RUST_FILES.match(call.name)) or call.is_awaited:
            continue
        if facts.is_in_async(call):
            if _is_on_thread(call, facts):
                continue
            if waits:
                what = f"{call.written}() stops a thread of the runtime until it is done"
                yield Hit(call.span, what, CERTAIN)
            else:
                what = f"{call.written}() waits for the disk on a thread of the runtime"
                yield Hit(call.span, what, LIKELY, "low")
            continue
        for caller in callers_through(call, facts):
            around = facts.named_function_of(caller)
            if not facts.is_in_async(caller) or caller.is_awaited or _is_on_thread(caller, facts):
                continue
            # What is read once at the start delays no one.
            if around is None or (not waits and runs_once(around)) or (around, caller.written) in told:
                continue
            told.add((around, caller.written))
            what = f"{caller.written}() stops a thread of the runtime (it calls {call.written}())"
            yield Hit(caller.span, what, LIKELY, None if waits else "low")


def _is_on_thread(call: Call, facts: Facts) -> bool:
    return any(
        each.name in _RUST_ELSEWHERE or each.method in ("spawn_blocking", "block_in_place", "asyncify")
        for each in facts.calls_around(call)
    )


_WHOLE_FILES = NamePattern(r"^fs\.(readFile|writeFile|appendFile|copyFile)Sync$")
_AT_START = NamePattern(
    r"^_?(connect|open|start|restart|init|boot|setup|register|migrate|listen)", re.IGNORECASE
)
_LIBRARIES_SYNC = NamePattern(
    r"^(xlsx\.(readFile|read|writeFile)|adm-zip\.(extractAllTo|writeZip|readFile|extractEntryTo)|sync-request|sync-fetch"
    r"|Atomics\.wait|deasync\..*|shelljs\.exec)$"
)
_SERVES = (
    "express", "fastify", "koa", "@nestjs/common", "@hapi/hapi", "hono", "kafkajs", "bullmq", "pg", "ioredis",
    "redis", "mongoose", "mongodb", "amqplib", "@aws-sdk/client-s3", "@aws-sdk/client-sqs", "nodemailer",
    "@prisma/client", "typeorm", "knex", "ws", "socket.io",
)  # fmt: skip
"""Modules of programs that serve many at once: there, an async function is one of several that run."""


def _javascript(facts: Facts) -> Iterator[Hit]:
    told = set[tuple[Scope, str]]()
    for call in facts.calls:
        if not any(each.match(call.name) for each in (_SYNC, _PASSWORDS, _LIBRARIES_SYNC)):
            continue
        scope = facts.function_of(call)
        if scope is None:
            continue
        is_file = call.name.startswith("fs.")
        if frequency_of(call, facts) in ("request", "message"):
            yield Hit(call.span, f"{call.written}() stops every request until it is done", CERTAIN)
        elif scope.is_async and (not is_file or _delays_others(call, scope, facts)):
            # Small files are read as fast as they are found; only requests wait for them.
            what = f"{call.written}() stops the event loop in an async function"
            yield Hit(call.span, what, LIKELY, "medium")
        elif not scope.is_async:
            for caller in callers_through(call, facts):
                around = facts.function_of(caller)
                if around is None or not around.is_async or (around, caller.written) in told:
                    continue
                if not is_file or _delays_others(call, around, facts):
                    told.add((around, caller.written))
                    what = f"{caller.written}() stops the event loop (it calls {call.written}())"
                    yield Hit(caller.span, what, LIKELY, "medium")


def _delays_others(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a whole file is read or written in a method of a server's class, which runs often."""
    if _WHOLE_FILES.match(call.name) is None or not scope.owner or runs_once(scope):
        return False
    if _AT_START.match(scope.short_name):
        return False
    return facts.imports_any(*_SERVES)


RULE = Rule(
    id="FK-P001",
    slug="blocking-call-in-async-code",
    title="Blocking call in async code",
    why="While it waits, no other request of the process is served: one slow call makes all of them slow.",
    fix="Await an async client or API instead, or hand the call to a thread (asyncio.to_thread).",
    kind="performance",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
