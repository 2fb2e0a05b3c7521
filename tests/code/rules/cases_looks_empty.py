"""Failures that look like an empty answer."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_EMPTY = "failure-looks-empty"
_SYNC = "import requests\ndef members(u):\n    try:\n        r = requests.get(u, timeout=5)\n        r.raise_for_status()\n        return r.json()\n    except Exception as exc:\n        log.warning('not reachable: %s', exc)\n        return []\n"

CASES = [
    bad(
        _EMPTY,
        "python",
        "import requests\ndef load(u):\n    try:\n        return requests.get(u, timeout=5).json()\n    except Exception:\n        return []",
        5,
    ),
    good(
        _EMPTY,
        "python",
        "import requests\ndef load(u):\n    try:\n        return requests.get(u, timeout=5).json()\n    except Exception as exc:\n        raise LoadError(u) from exc",
    ),
    good(
        _EMPTY,
        "python",
        "import requests\ndef load(u):\n    try:\n        return requests.get(u, timeout=5).json()\n    except Exception:\n        log.exception('failed')\n        return []",
    ),
    good(
        _EMPTY,
        "python",
        "import requests\ndef suggestions(u):\n    try:\n        return requests.get(u, timeout=5).json()\n    except Exception:\n        return []",
    ),
    good(
        _EMPTY,
        "python",
        "def number(text):\n    try:\n        return int(text)\n    except Exception:\n        return 0",
    ),
    good(_EMPTY, "python", _SYNC + "def show(u):\n    return render(members(u))"),
    bad(
        _EMPTY,
        "typescript",
        "async function flags(u: string) {\n try { const r = await fetch(u); return await r.json(); } catch {\n return []; } }",
        2,
    ),
    bad(
        _EMPTY,
        "typescript",
        "import axios from 'axios';\nconst load = async (u: string) =>\n axios.get(u).then((r) => r.data).catch(() => []);",
        3,
    ),
    good(
        _EMPTY,
        "typescript",
        "async function flags(u: string) { try { const r = await fetch(u); return await r.json(); } catch (err) { throw new Error('flags', { cause: err }); } }",
    ),
    bad(
        _EMPTY,
        "go",
        'package a\nimport "database/sql"\nfunc roles(db *sql.DB) ([]string, error) {\n\trows, err := db.Query("SELECT role FROM r")\n\tif err != nil {\n\t\treturn nil, nil\n\t}\n\treturn collect(rows)\n}',
        5,
    ),
    good(
        _EMPTY,
        "go",
        'package a\nimport "database/sql"\nfunc roles(db *sql.DB) ([]string, error) {\n\trows, err := db.Query("SELECT role FROM r")\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\treturn collect(rows)\n}',
    ),
    bad(
        _EMPTY,
        "java",
        'class A { JdbcTemplate jdbc; List<Object> f(long id) { try { return jdbc.queryForList("SELECT x FROM t"); }\n catch (Exception e) { return Collections.emptyList(); } } }',
        2,
    ),
    bad(
        _EMPTY,
        "csharp",
        "class A { HttpClient _http; async Task<P?> F(string id) { try { return await _http.GetFromJsonAsync<P>(id); }\n catch { return null; } } }",
        2,
    ),
    good(
        _EMPTY,
        "csharp",
        'class A { HttpClient _http; async Task<P?> F(string id) { try { return await _http.GetFromJsonAsync<P>(id); } catch (HttpRequestException ex) { _log.LogError(ex, "x"); throw; } } }',
    ),
    bad(
        _EMPTY,
        "rust",
        'async fn overdue(pool: &PgPool) -> Vec<I> {\n sqlx::query_as("SELECT * FROM i").fetch_all(pool).await.unwrap_or_default()\n}',
        2,
    ),
    good(
        _EMPTY,
        "rust",
        'async fn overdue(pool: &PgPool) -> Result<Vec<I>, E> { Ok(sqlx::query_as("SELECT * FROM i").fetch_all(pool).await?) }',
    ),
    bad(
        _EMPTY,
        "kotlin",
        'class S(private val jdbc: JdbcTemplate) { fun f(s: String): List<Int> = try {\n jdbc.queryForList("SELECT x FROM t")\n } catch (e: Exception) {\n emptyList()\n } }',
        3,
    ),
]
