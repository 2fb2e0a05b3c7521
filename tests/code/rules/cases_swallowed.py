"""Errors that may be dropped: of lookups, of clean-up, or with a reason; each beside its wrong twin."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _GO, _JAVA = "python", "javascript", "go", "java"
_RULE = "swallowed-error"

CASES = [
    # A lookup leaves its default in place.
    good(
        _RULE,
        _PY,
        "def f():\n    size = None\n    try:\n        size = os.sysconf('SC_PAGESIZE')\n    except Exception:\n        pass\n    return size",
    ),
    good(_RULE, _JS, "let v8;\ntry { v8 = require('v8'); } catch (e) {}"),
    good(_RULE, _JS, "function f() { try { return new Parser(); } catch (e) {} }"),
    good(
        _RULE,
        _GO,
        "package m\nfunc f(xs []string) {\n for _, x := range xs {\n  u, err := parse(x)\n  if err != nil {\n   continue\n  }\n  use(u)\n }\n}",
    ),
    good(
        _RULE,
        _GO,
        "package m\nfunc f(xs []string) {\n for _, x := range xs {\n  if _, err := os.Stat(x); err != nil {\n   continue\n  }\n  use(x)\n }\n}",
    ),
    bad(
        _RULE,
        _GO,
        "package m\nfunc f(xs []string) {\n for _, x := range xs {\n  if err := save(x); err != nil {\n   continue\n  }\n }\n}",
        4,
    ),
    bad(
        _RULE,
        _PY,
        "def f(row):\n    try:\n        answer = db.insert(row)\n    except Exception:\n        pass\n",
        4,
    ),
    # A comment or the name of the error says why; comments for other tools do not.
    good(_RULE, _JS, "try { save(); } catch (e) {\n  // the next round writes it again\n}"),
    good(_RULE, _JAVA, "void f() { try { save(); } catch (IOException ignored) { } }"),
    bad(_RULE, _PY, "try:\n    save()\nexcept Exception:  # pylint: disable=broad-except\n    pass", 3),
    bad(_RULE, _JS, "try { save(); } catch (e) {\n  // TODO\n}", 1),
    # Clean-up after an error, and at the end.
    good(
        _RULE,
        _PY,
        "def load():\n    try:\n        return read()\n    except ReadError:\n        try:\n            drop(path)\n        except Exception:\n            pass\n        raise",
    ),
    good(_RULE, _JS, "async function closeAll() { try { await flushCache(); } catch (e) {} }"),
    good(
        _RULE,
        _JS,
        "async function f() { try { await save(); } catch (e) { await store.drop(e).catch(() => {}); throw e; } }",
    ),
    good(_RULE, _JAVA, "void f() { try { Thread.sleep(delay()); } catch (Exception e) { } }"),
    good(_RULE, _PY, "def f():\n    try:\n        log.error('x')\n    except Exception:\n        pass"),
    # The next round tries again, or something else; `else` has the other answer.
    good(
        _RULE,
        _PY,
        "def f(pipe):\n    while True:\n        try:\n            pipe.execute()\n            return True\n        except WatchError:\n            continue",
    ),
    good(
        _RULE,
        _PY,
        "def f(value):\n    try:\n        pickle.loads(pickle.dumps(value))\n    except Exception:\n        pass\n    else:\n        return value\n    return repr(value)",
    ),
    # A promise that is awaited elsewhere, or read.
    good(_RULE, _JS, "function f() { this.task = this.run(); void this.task.catch(() => {}); }"),
    good(_RULE, _JS, "async function f() { const mod = await loadPlugin('a').catch(() => undefined); }"),
    bad(_RULE, _JS, "function f(m) { this.publish(m).catch(() => {}); }", 1),
]
