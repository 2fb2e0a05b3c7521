"""Questions that only the author of code can answer before a change is made. Pure.

A change that may alter what working code does is not safe: a stream that is ended, a message that is sent
twice, a session that is shared. Its codemod returns the question; an empty text means that
the change is safe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from faultkit.code.changes.project import Project
from faultkit.code.facts import Call, Facts

STREAM = "Is this a stream, a large transfer or a long poll? Then choose a limit that it never reaches."
KEPT = "Is what is opened used when its function has ended: kept, returned, or read by what runs on?"
_STREAMED = re.compile(
    r"text/event-stream|application/x-ndjson|EventSource|\bisStream\b"
    r"|\bstream\s*[=:](?!=|\s*(?:False|None)\b)"
    r"|\bresponseType\b(?!['\"]?\s*:\s*['\"`](?:json|text|document)\b)"
    r"|long[-_ ]?poll|/(events|stream|sse|watch)\b"
    r"|createReadStream|FormData|\bfiles\s*=|multipart/form-data|application/octet-stream",
    re.IGNORECASE,
)
"""Signs of a stream or a transfer in a call and in the values of its variables."""
_WAIT_OPTION = re.compile(r"""["']?(timeout|wait|waitfor|poll_timeout|max_wait)["']?\s*[:=]""", re.IGNORECASE)
_TRANSFER_WORDS = frozenset(
    (
        "backup", "clone", "download", "downloads", "events", "export", "import", "listen", "longpoll",
        "mirror", "poll", "pull", "push", "restore", "stream", "streaming", "subscribe", "sync", "tail",
        "transfer", "upload", "uploads", "watch",
    )
)  # fmt: skip
_STREAM_USES = frozenset(
    (
        "aiter_bytes", "aiter_lines", "arrayBuffer", "blob", "body", "copyfileobj", "getReader",
        "iter_chunked", "iter_content", "iter_lines", "pipe", "pipeThrough", "pipeTo", "raw",
    )
)  # fmt: skip
_GO_STREAMS = re.compile(r"io\.Copy|bufio\.New|httputil|ReverseProxy")
_SEND_WORDS = frozenset(
    (
        "activate", "alert", "book", "broadcast", "buy", "cancel", "charge", "confirm", "create",
        "deactivate", "delete", "dial", "email", "emit", "enqueue", "fire", "increment", "insert",
        "invite", "invoke", "mail", "message", "notification", "notifications", "notify", "order", "pay",
        "publish", "purchase", "push", "reboot", "refund", "register", "remove", "reset", "restart", "say",
        "send", "sendsms", "sms", "submit", "subscribe", "toggle", "trigger", "unsubscribe", "update",
        "upload", "vote", "withdraw", "write",
    )
)  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def always(question: str) -> Callable[[object, object], str]:
    """Return a function that asks this question for every finding."""
    return lambda source, finding: question


def faked_question(project: Project, name: str, *, compares: bool = False) -> str:
    """Ask whether tests that replace a function allow a change of its call; empty if none does.

    compares: only the arguments are changed, at which not all tests look"""
    if not project.fakes(name, compares=compares):
        return ""
    return f"Tests of the project replace {name.replace('()', '')}: do they still pass with the change?"


def words_of(name: str) -> frozenset[str]:
    """Return the words of an identifier or a path, in lower case: `send_smsTo` is send, sms, to."""
    return frozenset(each.lower() for each in _WORDS.findall(name))


def is_stream(call: Call, facts: Facts) -> bool:
    """Return whether a call may last long on purpose: a stream, a transfer, or a poll that waits."""
    text = facts.text_with_values(call)
    if _STREAMED.search(text) or _waits_long(call, facts):
        return True
    uses = {each.method for each in facts.calls_on(call)}
    uses |= {each.name.rpartition(".")[2] for each in facts.accesses_on(call)}
    if uses & _STREAM_USES:
        return True
    if facts.language == "go" and streams_in_go(_function_text(call, facts)):
        return True
    return bool(_names_around(call, facts) & _TRANSFER_WORDS)


def streams_in_go(text: str) -> bool:
    """Return whether a text of Go copies or reads something piece by piece."""
    return _GO_STREAMS.search(text) is not None


def _waits_long(call: Call, facts: Facts) -> bool:
    """Return whether the request asks its server to wait, as in `params={"timeout": 60}`."""
    for each in call.arguments:
        if each.name in ("params", "json", "data", "searchParams") and _WAIT_OPTION.search(each.value.text):
            return True
    return False


def sends(call: Call, facts: Facts) -> bool:
    """Return whether names around a call or its URL suggest that it has an effect, whatever its method."""
    url = call.argument("url", place=0)
    texts = [] if url is None else [url.value.text]
    if url is not None and url.value.shape == "name":
        texts += [facts.text(each.span) for each in facts.assignments_to(url.value.text, call)]
    path = " ".join(text.partition("?")[0] for text in texts)
    return bool((_names_around(call, facts) | words_of(path)) & _SEND_WORDS)


def _names_around(call: Call, facts: Facts) -> frozenset[str]:
    names = [f"{scope.name} {scope.owner}" for scope in facts.functions_around(call)]
    return words_of(" ".join(names))


def _function_text(call: Call, facts: Facts) -> str:
    scope = facts.named_function_of(call)
    return facts.text(call.span if scope is None else scope.span)


def callers_in_async(call: Call, facts: Facts, levels: int = 3) -> Iterator[Call]:
    """Yield calls in async functions of this text that lead to a call: the event loop waits with it."""
    scope = facts.named_function_of(call)
    if scope is None or levels == 0 or scope.is_async:
        return
    for caller in facts.callers_of(scope):
        if facts.is_in_async(caller):
            yield caller
        elif facts.named_function_of(caller) is not scope:
            yield from callers_in_async(caller, facts, levels - 1)


# Programs that may run for long: servers, builds, transfers, and what a person uses in a terminal.


_LONG = frozenset(
    (
        "ansible", "ansible-playbook", "apt", "apt-get", "aws", "bash", "bazel", "brew", "bundle", "caddy",
        "cargo", "celery", "cmake", "code", "composer", "conda", "curl", "dnf", "docker", "docker-compose",
        "dotnet", "dvc", "ffmpeg", "flask", "gcloud", "gem", "go", "gradle", "gradlew", "gunicorn", "helm",
        "hypercorn", "java", "journalctl", "jupyter", "kubectl", "less", "make", "man", "mongod", "more",
        "mvn", "mypy", "mysqld", "nano", "nginx", "ninja", "node", "nox", "npm", "npx", "pacman", "pdm",
        "pip", "pip3", "pnpm", "podman", "poetry", "postgres", "psql", "pytest", "python", "python3",
        "rclone", "redis-server", "rsync", "rustup", "scp", "screen", "sftp", "sh", "ssh", "streamlit",
        "sudo", "tail", "tar", "terraform", "tmux", "top", "tox", "twine", "uv", "uvicorn", "vi", "vim",
        "waitress-serve", "watch", "wget", "yarn", "yum", "zip", "zsh",
    )
)  # fmt: skip
_LONG_PARTS = {"git": frozenset(("clone", "fetch", "gc", "lfs", "pull", "push", "submodule", "svn"))}


def ends_soon(words: Sequence[str]) -> bool:
    """Return whether a command is known, and its program is not one that may run for long."""
    if not words:
        return False
    program = words[0].rpartition("/")[2].removesuffix(".exe")
    return program not in _LONG and not {*words[1:2]} & _LONG_PARTS.get(program, frozenset())
