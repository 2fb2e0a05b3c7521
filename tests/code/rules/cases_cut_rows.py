"""Queries without a limit of whose rows the program keeps a page."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CUT = "filtered-after-loading"

CASES = [
    bad(CUT, "csharp", """
        using Microsoft.EntityFrameworkCore;
        class Feed(IServiceProvider services) {
            async Task<List<Item>> Due(CancellationToken ct) {
                var db = services.GetRequiredService<FeedContext>();
                List<Item> due = await db.Items.Where(i => i.DueAt <= now).ToListAsync(ct);
                return due.OrderBy(i => i.DueAt).Take(BatchSize).ToList();
            }
        }
        """, 5),
    good(CUT, "csharp", """
        using Microsoft.EntityFrameworkCore;
        class Feed(FeedContext db) {
            async Task<List<Item>> Due(CancellationToken ct) =>
                await db.Items.Where(i => i.DueAt <= now).OrderBy(i => i.DueAt).Take(50).ToListAsync(ct);
            async Task<Report> Report(CancellationToken ct) {
                var items = await db.Items.Where(i => i.DueAt <= now).ToListAsync(ct);
                return new Report(items, items.OrderBy(i => i.DueAt).Take(3).ToList());
            }
        }
        """),
    bad(CUT, "java", """
        class Feed {
            private final EventRepository events;
            List<View> latest(long account, int n) {
                return events.findByAccountId(account).stream().sorted(NEWEST).limit(n).toList();
            }
        }
        """, 4),
    good(CUT, "java", """
        class Feed {
            private final EventRepository events;
            List<View> latest(long account, int n) {
                return events.findTop100ByAccountId(account).stream().limit(n).map(View::of).toList();
            }
            List<View> page(long account, Pageable page) {
                return events.findByAccountId(account, page).stream().limit(9).map(View::of).toList();
            }
        }
        """),
    bad(CUT, "kotlin", """
        class Feed(private val events: EventRepository) {
            fun latest(account: String, n: Int): List<Event> {
                val all = events.findByAccount(account)
                return all.sortedByDescending { it.at }.take(n)
            }
        }
        """, 3),
    bad(CUT, "typescript", """
        import { Pool } from 'pg';
        class Feed {
            constructor(private readonly pool: Pool) {}
            async latest(account: string, n: number) {
                const { rows } = await this.pool.query('SELECT * FROM events WHERE account = $1', [account]);
                return rows.slice(0, n);
            }
        }
        """, 5),
    bad(CUT, "typescript", """
        import { Repository } from 'typeorm';
        class Feed {
            constructor(private readonly events: Repository<Event>) {}
            async page(account: string, page: number, n: number) {
                const rows = await this.events.find({ where: { account } });
                return { total: rows.length, items: rows.slice(page * n, page * n + n) };
            }
        }
        """, 5),
    good(CUT, "typescript", """
        import { Repository } from 'typeorm';
        class Feed {
            constructor(private readonly events: Repository<Event>) {}
            async page(account: string, n: number) {
                const rows = await this.events.find({ where: { account }, take: n + 1 });
                return { items: rows.slice(0, n), more: rows.length > n };
            }
        }
        """),
    bad(CUT, "python", """
        def latest(session, account, limit):
            rows = session.scalars(select(Event).where(Event.account == account)).all()
            return sorted(rows, key=lambda row: row.at, reverse=True)[:limit]
        """, 2),
    bad(CUT, "python", """
        def page(cursor, state, offset, n):
            cursor.execute("SELECT id, body FROM jobs WHERE state = %s ORDER BY id", (state,))
            rows = cursor.fetchall()
            return {"total": len(rows), "items": rows[offset:offset + n]}
        """, 2),
    good(CUT, "python", """
        def page(cursor, state, n):
            cursor.execute("SELECT id, body FROM jobs WHERE state = %s ORDER BY id LIMIT %s", (state, n + 1))
            rows = cursor.fetchall()
            return rows[:n], len(rows) > n
        def all_of(session, account):
            rows = session.query(Event).filter(Event.account == account).all()
            log.info("the first: %s", rows[:3])
            for row in rows:
                work(row)
        """),
    bad(CUT, "go", """
        func Latest(db *gorm.DB, account string, limit int) ([]Event, error) {
            var events []Event
            if err := db.Where("account = ?", account).Find(&events).Error; err != nil {
                return nil, err
            }
            sort.Slice(events, func(i, j int) bool { return events[i].At.After(events[j].At) })
            if len(events) > limit {
                events = events[:limit]
            }
            return events, nil
        }
        """, 3),
    bad(CUT, "rust", """
        async fn latest(pool: &PgPool, account: i64, n: usize) -> Result<Vec<Event>, sqlx::Error> {
            let rows = sqlx::query_as::<_, Event>("SELECT * FROM events WHERE account = $1 ORDER BY at DESC")
                .bind(account).fetch_all(pool).await?;
            Ok(rows.into_iter().take(n).collect())
        }
        """, 2),
]  # fmt: skip
