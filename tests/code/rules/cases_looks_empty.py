"""Failures that look like an empty answer."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_EMPTY = "failure-looks-empty"
_SYNC = "import requests\ndef members(u):\n    try:\n        r = requests.get(u, timeout=5)\n        r.raise_for_status()\n        return r.json()\n    except Exception as exc:\n        log.warning('not reachable: %s', exc)\n        return []\n"

CASES = [
    bad(
        _EMPTY,
        "python",
        """
        import requests
        def load(u):
            try:
                return requests.get(u, timeout=5).json()
            except Exception:
                return []
        """,
        5,
    ),
    good(
        _EMPTY,
        "python",
        """
        import requests
        def load(u):
            try:
                return requests.get(u, timeout=5).json()
            except Exception as exc:
                raise LoadError(u) from exc
        """,
    ),
    good(
        _EMPTY,
        "python",
        """
        import requests
        def load(u):
            try:
                return requests.get(u, timeout=5).json()
            except Exception:
                log.exception('failed')
                return []
        """,
    ),
    good(
        _EMPTY,
        "python",
        """
        import requests
        def suggestions(u):
            try:
                return requests.get(u, timeout=5).json()
            except Exception:
                return []
        """,
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
        """
        async function flags(u: string) {
         try { const r = await fetch(u); return await r.json(); } catch {
         return []; } }
        """,
        2,
    ),
    bad(
        _EMPTY,
        "typescript",
        """
        import axios from 'axios';
        const load = async (u: string) =>
         axios.get(u).then((r) => r.data).catch(() => []);
        """,
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
        """
        package a
        import "database/sql"
        func roles(db *sql.DB) ([]string, error) {
        	rows, err := db.Query("SELECT role FROM r")
        	if err != nil {
        		return nil, nil
        	}
        	return collect(rows)
        }
        """,
        5,
    ),
    good(
        _EMPTY,
        "go",
        """
        package a
        import "database/sql"
        func roles(db *sql.DB) ([]string, error) {
        	rows, err := db.Query("SELECT role FROM r")
        	if err != nil {
        		return nil, err
        	}
        	return collect(rows)
        }
        """,
    ),
    bad(
        _EMPTY,
        "java",
        """
        class A { JdbcTemplate jdbc; List<Object> f(long id) { try { return jdbc.queryForList("SELECT x FROM t"); }
         catch (Exception e) { return Collections.emptyList(); } } }
        """,
        2,
    ),
    bad(
        _EMPTY,
        "csharp",
        """
        class A { HttpClient _http; async Task<P?> F(string id) { try { return await _http.GetFromJsonAsync<P>(id); }
         catch { return null; } } }
        """,
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
        """
        async fn overdue(pool: &PgPool) -> Vec<I> {
         sqlx::query_as("SELECT * FROM i").fetch_all(pool).await.unwrap_or_default()
        }
        """,
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
        """
        class S(private val jdbc: JdbcTemplate) { fun f(s: String): List<Int> = try {
         jdbc.queryForList("SELECT x FROM t")
         } catch (e: Exception) {
         emptyList()
         } }
        """,
        3,
    ),
]
