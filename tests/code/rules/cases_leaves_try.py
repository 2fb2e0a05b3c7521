"""Promises and tasks that are returned from a try or a using before they have ended."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _TS, _CS = "javascript", "typescript", "csharp"
_RULE = "promise-leaves-try"

CASES = [
    bad(
        _RULE,
        _TS,
        """
        class Pipeline {
          private async handle(record: string): Promise<Result> {
            try {
              const event = parse(record);
              return this.index(event);
            } catch (err) {
              await this.park(record, err);
              return "parked";
            }
          }
          private async index(event: Event): Promise<Result> {
            await this.search.index(event);
            return "indexed";
          }
        }
    """,
        5,
    ),
    bad(
        _RULE,
        _JS,
        """
        async function locked(id) {
          const lock = await take(id);
          try {
            return update(id);
          } finally {
            await lock.release();
          }
        }
        async function update(id) { await db.query(UPDATE, [id]); }
        const load = async (url) => {
          try {
            return fetch(url);
          } catch (err) {
            return null;
          }
        };
    """,
        4,
        12,
    ),
    good(
        _RULE,
        _JS,
        """
        async function locked(id) {
          const lock = await take(id);
          try {
            return await update(id);
          } finally {
            await lock.release();
          }
        }
        async function update(id) { await db.query(UPDATE, [id]); }
        async function handled(id) {
          try {
            return update(id).catch(() => null);
          } catch (err) {
            log(err);
          }
        }
        async function careful(id) {
          try { return await db.query(UPDATE, [id]); } catch (err) { return null; }
        }
        async function outer(id) {
          try { return careful(id); } catch (err) { return null; }
        }
        async function sync(text) {
          try { return parse(text); } catch (err) { return null; }
        }
        async function poll(n) {
          try { await take(n); return poll(n + 1); } catch (err) { log(err); return null; }
        }
        async function again(id) {
          try { return update(id); } catch (err) { throw err; }
        }
    """,
    ),
    bad(
        _RULE,
        _CS,
        """
        class Client {
            Task<string> Load(Uri uri) {
                using var http = new HttpClient();
                return http.GetStringAsync(uri);
            }
            Task<int> Save(Order order) {
                try {
                    return _db.SaveAsync(order);
                } catch (DbException e) {
                    _log.LogError(e, "not saved");
                    return Task.FromResult(0);
                }
            }
        }
    """,
        4,
        8,
    ),
    good(
        _RULE,
        _CS,
        """
        class Client {
            async Task<string> Load(Uri uri) {
                using var http = new HttpClient();
                return await http.GetStringAsync(uri);
            }
            Task<string> Shared(Uri uri) {
                using var span = _tracer.Start();
                return _http.GetStringAsync(uri);
            }
            Task<int> Known(Order order) {
                try { Check(order); } catch (CheckException e) { return Task.FromResult(0); }
                return _db.SaveAsync(order);
            }
        }
    """,
    ),
]
