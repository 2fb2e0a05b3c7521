"""Loops that go on to the next thing, wait for an event or read a stream: no retries."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _GO, _JAVA = "python", "javascript", "go", "java"
_BACKOFF, _LIMIT = "retry-without-backoff", "retry-without-limit"
_HEAD = 'package m\nimport ("io"; "net/http"; "time")\n'


def _good_go(rule: str, code: str) -> Case:
    return good(rule, _GO, _HEAD + code)


def _bad_go(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _GO, _HEAD + code, *(line + 2 for line in lines))


CASES = [
    # A stream until its end, and its errors unwrapped.
    _good_go(
        _LIMIT,
        "func f() error {\n for {\n  _, err := ReadDelimited(r, &s)\n  if err == nil { keep(s)\n   continue }\n  if err == io.EOF { break }\n  return err\n }\n return nil\n}",
    ),
    _good_go(
        _LIMIT,
        "func f(err error) bool {\n for {\n  if err == target { return true }\n  if err = unwrap(err); err == nil { return false }\n }\n}",
    ),
    good(
        _LIMIT,
        _PY,
        "def key(self):\n    while True:\n        try:\n            return self.win.getkey().upper()\n        except Exception:\n            beep()\n",
    ),
    # Page after page, item after item, host after host, port after port.
    _good_go(
        _BACKOFF,
        'func f() error {\n for {\n  resp, err := a.do(url)\n  if err != nil { return err }\n  if resp.StatusCode != 200 { return bad(resp) }\n  url = next(resp)\n  if url == "" { break }\n }\n return nil\n}',
    ),
    _good_go(
        _BACKOFF,
        "func f() *Msg {\n for seq := start; seq >= first; seq-- {\n  if m, err := look(seq); err == nil { return m }\n }\n return nil\n}",
    ),
    good(
        _LIMIT,
        _JS,
        "async function f(hosts) { while (true) { const host = hosts.next(); try { await connect(host); break; } catch (e) { tried.push(e); } } }",
    ),
    good(
        _LIMIT,
        _JS,
        "async function f() { while (true) { await this._borrowConnection(it); try { await this.refresh(); break; } catch (e) { log(e); } } }",
    ),
    good(
        _BACKOFF,
        _PY,
        "def listen(first, last):\n    for x in range(first, last):\n        try:\n            return reactor.listen(x)\n        except ListenError:\n            pass\n",
    ),
    good(
        _BACKOFF,
        _JAVA,
        "Object f() { for (Class c = o.getClass(); c != Object.class; c = c.getSuperclass()) { try { return c.getField(n); } catch (AccessException e) { last = e; } } return null; }",
    ),
    good(
        _BACKOFF,
        _PY,
        "def groups(ids):\n    while True:\n        try:\n            return os.setgroups(ids)\n        except OSError:\n            ids[:] = ids[:-1]\n",
    ),
    # Events: the loop waits for them, and each has its own work.
    _good_go(
        _BACKOFF,
        "func f() {\n for {\n  select {\n  case c := <-conns:\n   if err := serve(c); err == nil { return }\n  case <-quit:\n   return\n  }\n }\n}",
    ),
    _good_go(
        _BACKOFF,
        "func f(ln net.Listener) {\n for {\n  conn, err := ln.Accept()\n  if err != nil { break }\n  err = greet(conn)\n  if err == nil { break }\n }\n}",
    ),
    good(
        _LIMIT,
        _PY,
        "def run(loop):\n    while True:\n        try:\n            loop.turn()\n        except Exception:\n            log.exception('x')\n        return\n",
    ),
    # The wait is a ticker, the end a channel; a policy decides; a conflict clears at once.
    _good_go(
        _BACKOFF,
        "func f(tick *time.Ticker, stop chan bool) error {\n for {\n  err := call()\n  if err == nil { return nil }\n  select {\n  case <-stop:\n   return err\n  case <-tick.C:\n  }\n }\n}",
    ),
    _good_go(
        _LIMIT,
        "func f(tick *time.Ticker, stop chan bool) error {\n for {\n  err := call()\n  if err == nil { return nil }\n  select {\n  case <-stop:\n   return err\n  case <-tick.C:\n  }\n }\n}",
    ),
    good(
        _BACKOFF,
        _JAVA,
        'Object f() { for (int n = 1;; n++) { try { return client.execute(r); } catch (IOException e) { if (retryHandler.retryRequest(e, n)) { log.info("x"); } else { throw e; } } } }',
    ),
    good(
        _LIMIT,
        _PY,
        "def decr(pipe):\n    while True:\n        try:\n            pipe.execute()\n            return True\n        except redis.WatchError:\n            continue\n",
    ),
    # Retries they are.
    _bad_go(
        _BACKOFF,
        "func f() error {\n for attempt := 0; attempt < 3; attempt++ {\n  err := send(m)\n  if err != nil { log(err)\n   continue }\n  return nil\n }\n return last\n}",
        2,
    ),
    _bad_go(
        _LIMIT,
        "func f() {\n for {\n  if err := connect(); err != nil {\n   time.Sleep(d)\n  } else {\n   break\n  }\n }\n}",
        2,
    ),
    bad(
        _LIMIT,
        _PY,
        "def send(m):\n    while True:\n        try:\n            publish(m)\n        except IOError:\n            time.sleep(1)\n            continue\n        return\n",
        2,
    ),
]
