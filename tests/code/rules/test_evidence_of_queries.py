"""Findings about queries and loops are shown by default only where the text shows that they matter."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY

BY_SLUG = {rule.slug: rule for rule in RULES}

SHOWN = [
    # A request waits for the reads of all rounds.
    ("call-per-item", "javascript", """
        const { Order, Customer } = require('./models');
        async function list(req, res) {
            const rows = [];
            for (const id of req.body.orderIds) {
                rows.push(await Order.findByPk(id));
            }
            res.json(rows);
        }
        """),
    # A caller waits for the list that the loop builds.
    ("call-per-item", "java", """
        class Overview {
            private final CourseRepository courses;
            private final TeacherRepository teachers;
            List<Row> rows(long term) {
                List<Row> found = new ArrayList<>();
                for (Course course : courses.findByTerm(term)) {
                    found.add(new Row(course, teachers.findById(course.getTeacherId())));
                }
                return found;
            }
        }
        """),
    ("call-per-item", "rust", """
        async fn plans(conn: &mut MultiplexedConnection) -> Result<Vec<Plan>, Error> {
            let names: Vec<String> = redis::cmd("ZRANGE").arg("plans").arg(0).query_async(conn).await?;
            let mut plans = Vec::new();
            for name in &names {
                let fields: Fields = redis::cmd("HGETALL").arg(name).query_async(conn).await?;
                plans.push(plan_of(fields));
            }
            Ok(plans)
        }
        """),
    ("write-per-row", "python", """
        def load(path, conn):
            rows = read_rows(path)
            for row in rows:
                conn.execute("UPDATE prices SET cents = %s WHERE sku = %s", row)
                conn.commit()
        """),
    ("write-per-row", "python", """
        def load(rows, conn):
            for row in rows:
                conn.execute("INSERT INTO prices (sku, cents) VALUES (%s, %s)", row)
        """),
    ("nested-search", "javascript", """
        const { User } = require('./models');
        async function shared(one, other) {
            const mine = await User.findAll({ where: { group: one } });
            const users = await User.findAll({ where: { group: other } });
            return mine.filter((user) => users.some((each) => each.email === user.email));
        }
        """),
    ("list-membership-in-loop", "python", """
        class Seen:
            def __init__(self):
                self.keys = []

            def first(self, key):
                if key in self.keys:
                    return False
                if len(self.keys) > 100_000:
                    self.keys.pop(0)
                self.keys.append(key)
                return True
        """),
    ("whole-table-loaded", "csharp", """
        public class Orders(ShopContext _db) {
            public async Task<List<Order>> Open(int shop) {
                var orders = await _db.Orders.ToListAsync();
                return orders.Where(each => each.Shop == shop && each.IsOpen).Take(50).ToList();
            }
        }
        """),
    ("count-by-loading", "javascript", """
        const { Order } = require('./models');
        async function total(shop) {
            const orders = await Order.findAll({ where: { shop } });
            return orders.length;
        }
        """),
    ("defer-in-loop", "go", """
        func join(names []string) error {
            for _, name := range names {
                file, err := os.Open(name)
                if err != nil {
                    return err
                }
                defer file.Close()
                copyFrom(file)
            }
            return nil
        }
        """),
    ("loaded-each-time", "python", """
        from fastapi import FastAPI
        import csv
        app = FastAPI()

        @app.get("/areas/{code}")
        def area(code: str):
            with open("areas.csv") as source:
                areas = {row["code"]: row for row in csv.DictReader(source)}
            return areas[code]
        """),
]  # fmt: skip

NOT_SHOWN = [
    # Each round writes as well: a piece of work for each item.
    ("call-per-item", "javascript", """
        const { Order, Customer } = require('./models');
        async function close(req, res) {
            for (const id of req.body.orderIds) {
                const order = await Order.findByPk(id);
                order.closed = true;
                await order.save();
            }
            res.json({});
        }
        """),
    # Nothing waits for a job, and it returns nothing.
    ("call-per-item", "python", """
        def mark_seen(redis_connection):
            names = redis_connection.hkeys("seen")
            for name in names:
                times[name] = redis_connection.hget("seen", name)
        """),
    ("call-per-item", "kotlin", """
        import android.content.Context
        suspend fun rows(users: UserDao): List<Row> {
            val rows = users.getAll()
            return rows.map { users.findById(it.id) }
        }
        """),
    # A command for one user, and a service that answers for one at a time.
    ("call-per-item", "python", """
        import click
        def rows(session):
            found = []
            for user in session.query(User).all():
                found.append(session.query(Group).filter_by(id=user.group_id).first())
            return found
        """),
    ("call-per-item", "python", """
        import requests
        def rows(users):
            return [requests.get(f"https://example.com/users/{user.id}", timeout=5).json() for user in users]
        """),
    # A database inside the process.
    ("call-per-item", "python", """
        import sqlite3
        def rows(conn):
            found = conn.execute("SELECT id FROM orders").fetchall()
            return [conn.execute("SELECT name FROM lines WHERE ref = ?", row).fetchone() for row in found]
        """),
    # One query for each key, whichever way it is kept.
    ("call-per-item", "java", """
        @RestController
        class Jobs {
            private final FlowRepository flowRepository;
            @PostMapping("/jobs")
            List<Row> rows(@RequestBody List<Job> jobs) {
                Map<String, Flow> flows = new HashMap<>();
                List<Row> rows = new ArrayList<>();
                for (Job job : jobs) {
                    var id = job.flowId();
                    var flow = flows.get(id) != null ? flows.get(id) : flowRepository.findById(id);
                    flows.put(id, flow);
                    rows.add(new Row(job, flow));
                }
                return rows;
            }
        }
        """),
    ("call-per-item", "java", """
        @RestController
        class Jobs {
            private final FlowRepository flowRepository;
            @PostMapping("/jobs")
            List<Row> rows(@RequestBody List<Job> jobs) {
                Map<String, Flow> flows = new HashMap<>();
                List<Row> rows = new ArrayList<>();
                for (Job job : jobs) {
                    rows.add(new Row(flows.computeIfAbsent(job.flowId(), id -> flowRepository.findById(id))));
                }
                return rows;
            }
        }
        """),
    # A dictionary whose name has the name of a database in it, and a method that maps a row.
    ("call-per-item", "python", """
        def columns(properties):
            found = []
            for name, data in properties.items():
                found.append((name, ELASTIC_TYPES_MAPPING.get(data["type"], "string")))
            return found
        """),
    ("call-per-item", "java", """
        class Statistics {
            private final LogRepository logs;
            List<Row> rows() {
                return logs.findAll().stream().map(each -> new Row(logs.getDate(each, "day"))).toList();
            }
        }
        """),
    # Tasks that are started together.
    ("call-per-item", "csharp", """
        public class Sync(ShopContext db) {
            public async Task<List<Row>> All() {
                var shops = await db.Shops.ToListAsync();
                var tasks = shops.Select(RowAsync).ToList();
                return (await Task.WhenAll(tasks)).ToList();
            }
            private async Task<Row> RowAsync(Shop shop) {
                return new Row(await db.Orders.Where(each => each.ShopId == shop.Id).CountAsync());
            }
        }
        """),
    # A commit of an object that is no connection, and one after a failure.
    ("write-per-row", "python", """
        def clear(store):
            for key, watch in store.items():
                watch.tags = []
                watch.commit()
        """),
    ("write-per-row", "python", """
        def outdated(session, rows):
            for row in rows:
                try:
                    check(row)
                except ValueError:
                    row.disabled = True
                    session.commit()
        """),
    ("write-per-row", "javascript", """
        const { Playlist } = require('./models');
        async function remove(req, res) {
            const playlists = await Playlist.findAll({ where: { userId: req.user.id } });
            for (const playlist of playlists) await playlist.destroy();
            res.sendStatus(200);
        }
        """),
    # As many as ids were given.
    ("nested-search", "javascript", """
        const { User } = require('./models');
        async function shared(ids, other) {
            const mine = await User.findAll({ where: { id: { [Op.in]: ids } } });
            const users = await User.findAll({ where: { group: other } });
            return users.filter((user) => mine.some((each) => each.email === user.email));
        }
        """),
    # Lists that a caller gives: nothing shows that they are long.
    ("nested-search", "python", """
        def merged(orders, users):
            return [(order, next(user for user in users if user.id == order.user_id)) for order in orders]
        """),
    ("list-membership-in-loop", "javascript", """
        function distinct(books) {
            const tags = [];
            for (const book of books) {
                for (const tag of book.tags) if (!tags.includes(tag)) tags.push(tag);
            }
            return tags;
        }
        """),
    ("copied-or-sorted-in-loop", "javascript", """
        function names(text) {
            let found = [];
            text.split('&').forEach((each) => (found = found.concat(each.split(','))));
            return found;
        }
        """),
    # A table that is only listed.
    ("whole-table-loaded", "javascript", """
        const { User } = require('./models');
        async function list(req, res) {
            res.json(await User.findAll());
        }
        """),
    # The condition on the included table is one on the rows.
    ("whole-table-loaded", "javascript", """
        const { Book, Item } = require('./models');
        async function export_all(ids) {
            const books = await Book.findAll({ include: [{ model: Item, where: { id: ids } }] });
            return books.filter((each) => each.open);
        }
        """),
    # Each half of the rows is used.
    ("filtered-after-loading", "kotlin", """
        class Widgets(private val widgetDao: WidgetDao) {
            suspend fun update(known: Set<Int>) {
                val rows = widgetDao.getAll()
                remove(rows.filter { it.id !in known })
                draw(rows.filter { it.id in known })
            }
        }
        """),
    ("count-by-loading", "typescript", """
        async function has(db: Db, list: string) {
            const found = await db.query.members.findMany({ where: eq(members.listId, list), limit: 1 });
            return found.length > 0;
        }
        """),
    ("count-by-loading", "csharp", """
        class Demo {
            void Show(Answer answer) {
                Console.WriteLine(answer.Data.ToArray().Length);
            }
        }
        """),
    # A goroutine uses it after the round; an iterator holds nothing of the system.
    ("defer-in-loop", "go", """
        func all(names []string, pool *Pool) {
            for _, name := range names {
                file, _ := os.Open(name)
                defer file.Close()
                pool.Go(func() { copyFrom(file) })
            }
        }
        """),
    ("defer-in-loop", "go", """
        func all(names []string) {
            for _, name := range names {
                found := iterate(name)
                defer found.Stop()
                union.Add(found)
            }
        }
        """),
    ("lazy-relation-in-loop", "javascript", """
        const { Playlist } = require('./models');
        async function clean(user) {
            const playlists = await Playlist.findAll({ where: { user } });
            for (const playlist of playlists) {
                const items = await playlist.getItems();
                if (!items.length) await playlist.destroy();
            }
        }
        """),
    ("loaded-each-time", "javascript", """
        const fs = require('fs');
        app.get('/menu', (req, res) => {
            const menu = JSON.parse(fs.readFileSync('menu.json', 'utf-8'));
            res.json({ version: menu.version });
        });
        """),
]  # fmt: skip


def _is_shown(slug: str, language: str, code: str) -> bool:
    found = findings_of(dedent(code).strip("\n") + "\n", language, rules=[BY_SLUG[slug]])
    return any(each.confidence >= LIKELY for each in found)


@pytest.mark.parametrize(("slug", "language", "code"), SHOWN)
def test_what_the_text_shows_to_matter_is_shown(slug: str, language: str, code: str) -> None:
    assert _is_shown(slug, language, code)


@pytest.mark.parametrize(("slug", "language", "code"), NOT_SHOWN)
def test_what_may_be_bounded_or_rare_is_not_shown(slug: str, language: str, code: str) -> None:
    assert not _is_shown(slug, language, code)
