"""Changes that would break working code: they are not made, or only with an answer to their question.

Each text is the smallest one that shows a way in which a change broke a real program.
"""

from __future__ import annotations

import pytest

from faultkit.code.advice.improvement import improve
from faultkit.code.changes import codemods_for
from faultkit.code.changes.project import Project
from tests.code.changes.cases import asked, boldly, changed, codemod_named, safely

# Programs that run for long.

LONG_PROGRAMS = {
    "a server that is waited for": (
        "import subprocess\n\n\ndef serve():\n    p = subprocess.Popen(['gunicorn', 'a:app'])\n    p.wait()\n"
    ),
    "a program of the user": (
        "import subprocess\n\n\ndef run(command, env):\n    p = subprocess.Popen(command, env=env)\n"
        "    out, _ = p.communicate()\n    return p.returncode\n"
    ),
    "a wrapper of a package manager": (
        "import subprocess\n\n\ndef install(args):\n    return subprocess.run(['pip', 'install', *args])\n"
    ),
    "a wrapper of whatever it is given": (
        "import subprocess\n\n\ndef main(argv):\n    return subprocess.call(argv)\n"
    ),
    "an upload": "import subprocess\n\n\ndef f():\n    subprocess.check_call(['twine', 'upload', 'd'])\n",
    "a push": "import subprocess\n\n\ndef release():\n    subprocess.run(['git', 'push'], check=True)\n",
    "a command as one text": "import subprocess\n\n\ndef f():\n    subprocess.run('npm start', shell=True)\n",
    "an interpreter": (
        "import subprocess\nimport sys\n\n\ndef f(p):\n    subprocess.run([sys.executable, p], check=True)\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", LONG_PROGRAMS.values(), ids=LONG_PROGRAMS)
def test_a_program_that_may_run_for_long_never_gets_a_limit(text: str) -> None:
    assert "timeout" not in boldly(text).new


def test_a_limit_for_a_short_program_asks() -> None:
    text = "import subprocess\n\n\ndef f():\n    return subprocess.check_output(['git', 'log', '-1'])\n"
    assert safely(text).diff == ""
    assert asked(text) == {"FK-R004"}
    assert "timeout=60.0" in boldly(text).new


# Requests that send.

SENDING = {
    "by the name of the function": (
        "import requests\n\n\ndef send_sms(to, text):\n"
        "    return requests.get('https://sms.example/http', params={'to': to, 'text': text}, timeout=5)\n"
    ),
    "by the name of the class": (
        "import requests\n\n\nclass NotifyPlugin:\n    def do(self, text):\n"
        "        return requests.get('https://a.example/x', params={'t': text}, timeout=5).ok\n"
    ),
    "by the address": (
        "import requests\n\n\ndef go(to):\n    return requests.get(f'https://a.example/message/send?to={to}')\n"
    ),
    "by the address in a variable": (
        "import requests\n\nURL = 'https://a.example/api/order'\n\n\ndef go(to):\n"
        "    return requests.get(URL, params={'to': to}, timeout=5)\n"
    ),
    "inside a poll": (
        "import polling2\nimport requests\n\n\ndef look(url):\n"
        "    return polling2.poll(lambda: requests.get(url, timeout=5), step=1, timeout=9)\n"
    ),
    "in a function that is polled": (
        "import polling2\nimport requests\n\n\n"
        "def ask():\n    return requests.get('http://a', timeout=5)\n\n\n"
        "def look():\n    return polling2.poll(ask, step=1, timeout=9)\n"
    ),
}


@pytest.mark.parametrize("text", SENDING.values(), ids=SENDING)
def test_a_request_that_may_have_an_effect_is_never_repeated(text: str) -> None:
    assert "retry" not in boldly(text).new


def test_a_helper_that_blocks_an_event_loop_is_not_repeated() -> None:
    text = (
        "import requests\n\n\ndef ask(url):\n    return requests.get(url, timeout=5)\n\n\n"
        "async def handle(url):\n    return ask(url).status_code\n"
    )
    assert changed(text, "python", codemod_named("python", "retry")) == text


def test_a_retry_asks_and_does_not_repeat_what_took_too_long() -> None:
    text = "import requests\n\n\ndef size(url):\n    return requests.head(url, timeout=5).headers\n"
    assert "FK-R005" in {rule for each in boldly(text).questions for rule in each.rules}
    assert "retry" not in safely(text).new
    new = boldly(text).new
    assert "retry_if_exception_type(requests.ConnectionError)" in new
    assert "requests.Timeout" not in new


# Streams, transfers and long polls.

STREAMS = {
    "events": ("javascript", "const r = await fetch(url, { headers: { Accept: 'text/event-stream' } });\n"),
    "a body that is read in pieces": (
        "javascript",
        "async function tail(url) {\n  const r = await fetch(url);\n  return r.body.getReader();\n}\n",
    ),
    "a download": (
        "javascript",
        "async function get(url) {\n  const r = await fetch(url);\n  return await r.arrayBuffer();\n}\n",
    ),
    "a stream of axios": (
        "javascript",
        "import axios from 'axios';\nexport const get = (u) => axios.get(u, { responseType: 'stream' });\n",
    ),
    "a stream of requests": (
        "python",
        "import requests\n\n\ndef lines(url):\n    with requests.get(url, stream=True) as r:\n"
        "        r.raise_for_status()\n        yield from r.iter_lines()\n",
    ),
    "headers in a variable": (
        "python",
        "import requests\n\nHEADERS = {'Accept': 'text/event-stream'}\n\n\ndef f(url):\n"
        "    return requests.get(url, headers=HEADERS).status_code\n",
    ),
    "an upload": (
        "python",
        "import requests\n\n\ndef put(url, f):\n    return requests.post(url, files={'f': f}).status_code\n",
    ),
    "a long poll": (
        "python",
        "import requests\n\n\ndef updates(url):\n"
        "    return requests.get(url, params={'timeout': 60}).status_code\n",
    ),
    "an answer of Go that is returned": (
        "go",
        'package a\n\nimport "net/http"\n\nfunc Load(u string) (*http.Response, error) {\n'
        "\treturn http.Get(u)\n}\n",
    ),
    "a body of Go that is returned": (
        "go",
        'package a\n\nimport (\n\t"io"\n\t"net/http"\n)\n\nfunc Load(u string) (io.ReadCloser, error) {\n'
        "\tr, err := http.Get(u)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\treturn r.Body, nil\n}\n",
    ),
    "an answer that is returned": ("javascript", "export const ask = () => fetch('/a');\n"),
    "an answer that is passed on": (
        "javascript",
        "async function ask() {\n  const r = await fetch('/a');\n  return save(r);\n}\n",
    ),
    "an answer that a callback passes on": (
        "javascript",
        "const ask = () => fetch('/a').then((r) => { if (r.ok) save(r); });\n",
    ),
    "a response of Node that is written to a file": (
        "javascript",
        "import http from 'http';\nhttp.get('http://a', (r) => r.pipe(out)).on('error', log);\n",
    ),
    "a response of Node that is passed on": (
        "javascript",
        "import http from 'http';\nhttp.get('http://a').on('error', log).on('response', take);\n",
    ),
    "a copy to a file": (
        "go",
        'package a\n\nimport (\n\t"io"\n\t"net/http"\n\t"os"\n)\n\nfunc Save(u string, f *os.File) error {\n'
        "\tr, err := http.Get(u)\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer r.Body.Close()\n"
        "\t_, err = io.Copy(f, r.Body)\n\treturn err\n}\n",
    ),
}


@pytest.mark.parametrize(("language", "text"), STREAMS.values(), ids=STREAMS)
def test_a_stream_gets_a_limit_only_with_an_answer(language: str, text: str) -> None:
    assert safely(text, language).diff == ""
    assert "FK-R001" in asked(text, language)


# Names and signatures in JavaScript.

SHADOWED = {
    "a parameter": "async function f(fetch, nodeId) {\n  return await fetch(nodeId);\n}\n",
    "a parameter of an arrow function": "const make = (fetch) => async (id) => fetch(id);\n",
    "a parameter that is taken apart": "async function f({ fetch, log }) {\n  return await fetch(1);\n}\n",
    "a function of the file": "function fetch(id) {\n  return cache[id];\n}\nconst a = await fetch(7);\n",
    "a variable": "const fetch = make();\nasync function f(id) {\n  return await fetch(id);\n}\n",
    "a variable that is taken apart": "const { fetch } = createFetcher(1);\nconst a = await fetch(2);\n",
}


@pytest.mark.parametrize("text", SHADOWED.values(), ids=SHADOWED)
def test_a_local_function_gets_no_option_of_http(text: str) -> None:
    assert boldly(text, "javascript").new == text


def test_a_name_inside_another_function_hides_nothing() -> None:
    text = "function f() {\n  const fetch = make();\n  fetch(1);\n}\nconst a = await fetch('/a');\n"
    new = boldly(text, "javascript").new
    assert "  fetch(1);\n" in new
    assert "await fetch('/a', { signal: AbortSignal.timeout(30000) });" in new


NODE = {
    "options in a variable": (
        "const options = { host: 'a' };\nhttp.request(options, (r) => r.resume()).on('error', log).end();\n",
        "http.request({ signal: AbortSignal.timeout(30000), ...options }, (r) => r.resume())",
    ),
    "options as a literal": (
        "http.request({ host: 'a' }, (r) => r.resume()).on('error', log).end();\n",
        "http.request({ signal: AbortSignal.timeout(30000), host: 'a' }, (r) => r.resume())",
    ),
    "a URL and a callback": (
        "http.get('http://a', (r) => r.resume()).on('error', log);\n",
        "http.get('http://a', { signal: AbortSignal.timeout(30000) }, (r) => r.resume())",
    ),
    "a URL and options": (
        "http.get(new URL(u), { agent }, (r) => r.resume()).on('error', log);\n",
        "http.get(new URL(u), { signal: AbortSignal.timeout(30000), agent }, (r) => r.resume())",
    ),
    "a URL alone": (
        "const r = http.request(`http://${h}/`);\nr.on('error', log);\nr.end();\n",
        "http.request(`http://${h}/`, { signal: AbortSignal.timeout(30000) })",
    ),
}


@pytest.mark.parametrize(("text", "wanted"), NODE.values(), ids=NODE)
def test_all_forms_of_nodes_http_request_are_known(text: str, wanted: str) -> None:
    head = "const http = require('http');\n"
    assert wanted in safely(head + text, "javascript").new


def test_a_request_without_a_handler_of_errors_asks() -> None:
    text = "const http = require('http');\nhttp.get('http://a', (r) => r.resume());\n"
    assert safely(text, "javascript").diff == ""
    assert "event 'error'" in safely(text, "javascript").questions[0].question


def test_an_argument_that_may_be_options_or_a_url_is_left_alone() -> None:
    text = (
        "const http = require('http');\nfunction f(where, cb) {\n  http.get(where, cb).on('error', cb);\n}\n"
    )
    assert boldly(text, "javascript").new == text


def test_an_old_node_has_no_abort_signal_with_a_time() -> None:
    text = "const r = await fetch(u);\nif (!r.ok) throw new Error();\n"
    assert boldly(text, "javascript", Project(node=(14, 0))).new == text
    assert "AbortSignal" in boldly(text, "javascript", Project(node=(20, 0))).new


# Names of a Go package.

GO = (
    'package a\n\nimport "net/http"\n\n'
    "func {}(u string) (int, error) {{\n\tr, err := http.Get(u)\n"
    "\tif err != nil {{\n\t\treturn 0, err\n\t}}\n\tdefer r.Body.Close()\n\treturn r.StatusCode, nil\n}}\n"
)


def test_two_files_of_a_go_package_share_one_client() -> None:
    first = safely(GO.format("One"), "go").new
    assert "var httpClient = " in first
    second = safely(GO.format("Two"), "go", Project(package=(("one.go", first),))).new
    assert "r, err := httpClient.Get(u)" in second
    assert "var " not in second
    assert '"time"' not in second


def test_a_name_that_another_file_of_a_go_package_has_is_not_declared_again() -> None:
    other = "package a\n\nfunc httpClient() int {\n\treturn 1\n}\n"
    new = safely(GO.format("One"), "go", Project(package=(("other.go", other),))).new
    assert "var httpClient2 = " in new


def test_a_client_of_a_test_file_is_not_used() -> None:
    first = safely(GO.format("One"), "go").new
    new = safely(GO.format("Two"), "go", Project(package=(("one_test.go", first),))).new
    assert "var httpClient2 = " in new


def test_a_goroutine_that_outlives_its_request_keeps_its_own_context() -> None:
    text = (
        'package a\n\nimport "net/http"\n\n'
        "func Handle(w http.ResponseWriter, r *http.Request) {\n\tgo func() {\n"
        '\t\treq, _ := http.NewRequest("GET", "http://a", nil)\n\t\t_ = req\n\t}()\n}\n'
    )
    assert "r.Context()" not in boldly(text, "go").new


# Limits that are there already.

BOUNDED = {
    "a default of the library": "import httpx\n\n\ndef f(u):\n    return httpx.get(u).status_code\n",
    "an adapter with a limit": (
        "import requests\nfrom a import TimeoutAdapter\n\ns = requests.Session()\n"
        "s.mount('https://', TimeoutAdapter(5))\n\n\ndef f(u):\n    return s.get(u).status_code\n"
    ),
    "a session whose request has a limit": (
        "import functools\nimport requests\n\ns = requests.Session()\n"
        "s.request = functools.partial(s.request, timeout=5)\n\n\n"
        "def f(u):\n    return s.get(u).status_code\n"
    ),
    "no limit on purpose": "import requests\n\n\ndef f(u):\n    return requests.get(u, timeout=None).ok\n",
    "options that are spread": (
        "import requests\n\n\ndef _ask(u, **more):\n    return requests.get(u, **more).status_code\n\n\n"
        "def f(u):\n    return _ask(u)\n"
    ),
    "a limit that the caller gives and that is used elsewhere": (
        "import requests\n\n\ndef f(u, timeout):\n    with limit(timeout):\n"
        "        return requests.get(u).status_code\n"
    ),
}


@pytest.mark.parametrize("text", BOUNDED.values(), ids=BOUNDED)
def test_a_limit_that_is_there_or_left_out_on_purpose_is_honoured(text: str) -> None:
    assert "timeout=30.0" not in safely(text).new
    assert "timeout=5.0" not in safely(text).new


def test_a_connection_inside_the_callers_own_limit_asks() -> None:
    text = (
        "import asyncio\n\n\nasync def connect(host, timeout):\n"
        "    return await maybe_wait_for(asyncio.open_connection(host, 53), timeout)\n"
    )
    assert safely(text).diff == ""


def test_a_call_in_a_request_handler_gets_a_shorter_limit() -> None:
    text = (
        "import requests\nfrom flask import Flask\n\napp = Flask(__name__)\n\n\n@app.get('/')\ndef index():\n"
        "    return requests.get('http://a').text\n"
    )
    assert "timeout=5.0" in safely(text).new


# What every change of behaviour asks.

ASKING = {
    "a shared session": (
        "import requests\nfrom flask import Flask\n\napp = Flask(__name__)\n\n\n@app.get('/')\ndef index():\n"
        "    try:\n        return requests.get('http://a', timeout=5).text\n"
        "    except requests.RequestException:\n        return ''\n"
    ),
    "a queue": ("import queue\n\njobs = queue.Queue()\n\n\ndef add(job):\n    jobs.put(job)\n"),
    "a status": "import requests\n\n\ndef f(u):\n    return requests.get(u, timeout=5).json()\n",
    "an exit status": ("import subprocess\n\n\ndef f():\n    subprocess.run(['ls'], timeout=5)\n"),
    "a cache": "import functools\n\n\n@functools.cache\ndef f(n):\n    return n and f(n - 1)\n",
}


@pytest.mark.parametrize("text", ASKING.values(), ids=ASKING)
def test_a_change_of_what_code_does_asks_first(text: str) -> None:
    before = safely(text)
    assert before.diff == ""
    assert before.questions
    assert not any(each.is_applied for each in before.questions)
    assert before.score_after == before.score_before
    after = boldly(text)
    assert after.diff
    assert {each.question for each in before.questions} <= {each.question for each in after.questions}


def test_every_codemod_that_is_not_safe_says_so_in_a_question() -> None:
    always = {
        "shared-client", "socket-timeout", "subprocess-timeout", "status-check", "retry", "retry-bounds",
        "exit-status", "queue-size", "cache-size", "fan-out", "program-timeout", "context",
    }  # fmt: skip
    for language in ("python", "javascript", "go"):
        for codemod in codemods_for(language):
            if codemod.name in always:
                assert codemod.asks(None, None).endswith(("?", ".")), codemod.name  # type: ignore[arg-type]


# Dependencies.


def test_a_package_that_the_project_does_not_declare_is_not_needed_for_a_retry() -> None:
    text = "import requests\n\n\ndef size(url):\n    return requests.head(url, timeout=5).headers\n"
    project = Project(declared=frozenset({"requests"}), declared_in="pyproject.toml")
    plain = boldly(text, project=project)
    assert plain.dependencies == ()
    assert "tenacity" not in plain.new
    assert "for attempt in range(2):" in plain.new
    assert plain.score_after == 1.0
    known = Project(declared=frozenset({"requests", "tenacity"}), declared_in="pyproject.toml")
    assert boldly(text, project=known).dependencies == ("tenacity",)


def test_a_session_that_the_file_has_is_used() -> None:
    text = (
        "import requests\nfrom flask import Flask\n\napp = Flask(__name__)\nhttp = requests.Session()\n\n\n"
        "@app.get('/')\ndef index():\n    return requests.get('http://a', timeout=5).text\n"
    )
    new = improve(text, "python", "performance", None, 1.0).new
    assert "return http.get('http://a', timeout=5).text" in new
    assert new.count("Session()") == 1
