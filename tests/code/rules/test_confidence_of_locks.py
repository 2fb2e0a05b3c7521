"""Findings about locks, files and retries that matter only if the file shows it have a low confidence."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad
from tests.code.rules.test_rules import BY_SLUG

_HELD = "lock-held-over-io"

POSSIBLE = [
    bad(
        "lost-update",
        "csharp",
        """
        class Vouchers(ShopContext db)
        {
            public async Task<Outcome> Spend(Guid id, long cents, CancellationToken ct)
            {
                var voucher = await db.Vouchers.SingleAsync(v => v.Id == id, ct);
                if (voucher.LeftCents == cents)
                    return Outcome.Used;
                voucher.LeftCents -= cents;
                await db.SaveChangesAsync(ct);
                return Outcome.Done;
            }
        }
        """,
        8,
    ),
    bad(
        _HELD,
        "python",
        """
        class Channel:
            def drop(self, key):
                with self.lock_of(key):
                    return requests.delete(f"https://store.example/{key}")
        """,
        4,
    ),
    bad(
        "unguarded-access",
        "java",
        """
        class Pool {
            private final List<Item> items = new ArrayList<>();

            public synchronized void put(Item item) {
                items.add(item);
            }

            public synchronized Item take() {
                return items.remove(0);
            }

            public int idle() {
                return items.size();
            }
        }
        """,
        13,
    ),
    bad(
        _HELD,
        "go",
        """
        package purge

        import (
        	"net/http"
        	"example.com/app/mutex"
        )

        func (p *Purge) Run() error {
        	mutex.Index.Lock()
        	defer mutex.Index.Unlock()
        	_, err := http.Get("https://index.example/purge")
        	return err
        }
        """,
        11,
    ),
    bad(
        _HELD,
        "java",
        """
        class Windows {
            private final WindowRepository windows;

            synchronized void keep(Window window) {
                windows.saveAll(window);
            }
        }
        """,
        5,
    ),
    bad(
        _HELD,
        "go",
        """
        package rows

        type RowIterator struct {
        	mu   sync.Mutex
        	rows Rows
        }

        func (r *RowIterator) Next(ctx context.Context) (Row, error) {
        	r.mu.Lock()
        	defer r.mu.Unlock()
        	row, err := r.rows.Fetch(ctx, 1)
        	return row, err
        }
        """,
        11,
    ),
    bad(
        "unguarded-access",
        "python",
        """
        import threading

        class Ids:
            def __init__(self):
                self._lock = threading.Lock()
                self._ids = []

            def put(self, value):
                self._ids.append(value)

            def take(self):
                with self._lock:
                    return self._ids.pop()
        """,
        9,
    ),
    bad(
        "loaded-by-every-caller",
        "csharp",
        """
        class Backend
        {
            private Client _client;

            public async Task<Client> ClientAsync()
            {
                if (_client == null || _client.ValidUntil < DateTime.Now)
                    _client = await Client.LoginAsync(_name);
                return _client;
            }
        }
        """,
        8,
    ),
    bad(
        "retry-without-backoff",
        "python",
        """
        def ask(client, question):
            for attempt in range(9):
                try:
                    return client.ask(question)
                except UnauthorizedError:
                    client.renew_token()
        """,
        2,
    ),
    bad(
        "file-not-closed",
        "python",
        """
        def lines(path):
            return len(open(path).read())
        """,
        2,
    ),
    bad(
        "checked-then-inserted",
        "csharp",
        """
        class Logins
        {
            private readonly IMemoryCache _cache;

            public async Task<bool> Known(string key)
            {
                if (_cache.TryGetValue(key, out bool known)) return true;
                await Ask(key);
                _cache.Set(key, true);
                return false;
            }
        }
        """,
        7,
    ),
    bad(
        "shared-mutable-state",
        "python",
        """
        from flask import Flask

        app = Flask(__name__)
        latest = {}

        @app.post("/latest/<name>")
        def keep(name):
            latest[name] = "new"
            return "ok"
        """,
        8,
    ),
    bad(
        "file-written-in-place",
        "python",
        """
        import json

        def main():
            with open("words.json") as file:
                words = json.load(file)
            words["new"] = 1
            with open("words.json", "w") as file:
                json.dump(words, file)

        if __name__ == "__main__":
            main()
        """,
        7,
    ),
]

LIKELY_ONES = [
    bad(
        "lost-update",
        "csharp",
        """
        class Vouchers(ShopContext db)
        {
            public async Task<Outcome> Spend(Guid id, long cents, CancellationToken ct)
            {
                var voucher = await db.Vouchers.SingleAsync(v => v.Id == id, ct);
                if (voucher.LeftCents < cents)
                    return Outcome.TooLittle;
                voucher.LeftCents -= cents;
                await db.SaveChangesAsync(ct);
                return Outcome.Done;
            }
        }
        """,
        8,
    ),
    *(
        bad(
            rule,
            "typescript",
            """
            async function redeem(prisma: PrismaClient, code: string) {
              const coupon = await prisma.coupon.findUnique({ where: { code } });
              if (coupon.usedCount >= coupon.maxUses) {
                throw new UsedUp(code);
              }
              await prisma.coupon.update({
                where: { id: coupon.id },
                data: { usedCount: coupon.usedCount + 1 },
              });
            }
            """,
            line,
        )
        for rule, line in (("checked-then-inserted", 3), ("lost-update", 8))
    ),
    bad(
        "loaded-by-every-caller",
        "csharp",
        """
        class Backend
        {
            private Token _token;

            public async Task<Token> TokenAsync()
            {
                if (_token == null || _token.ValidUntil < DateTime.Now)
                    _token = await _identity.LoginAsync(_name);
                return _token;
            }
        }
        """,
        8,
    ),
    bad(
        "shared-mutable-state",
        "python",
        """
        from flask import Flask

        app = Flask(__name__)
        latest = {}

        @app.post("/latest/<name>")
        def keep(name):
            latest[name] = "new"
            return "ok"

        @app.get("/latest")
        def show():
            return [name for name in latest.items()]
        """,
        8,
    ),
    bad(
        _HELD,
        "java",
        """
        class Windows {
            private final WindowRepository windows;
            private int kept;

            synchronized void keep(Window window) {
                windows.saveAll(window);
            }

            synchronized int kept() {
                return kept;
            }
        }
        """,
        6,
    ),
]


@pytest.mark.parametrize("case", POSSIBLE, ids=str)
def test_it_is_possible_without_evidence_in_the_file(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    assert tuple(each.line for each in found) == case.lines
    assert all(each.confidence < LIKELY for each in found)


@pytest.mark.parametrize("case", LIKELY_ONES, ids=str)
def test_it_is_likely_with_evidence_in_the_file(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    assert tuple(each.line for each in found) == case.lines
    assert all(each.confidence >= LIKELY for each in found)
