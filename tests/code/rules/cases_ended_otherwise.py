"""Transactions that another call ends, failures that the answer names, and other code close to a fault."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RELEASED = "released-on-success-only"
_EMPTY = "failure-looks-empty"
_CLAIMED = "checked-then-inserted"
_CANCELLED = "request-outlived"
_LOGGED = "failure-only-logged"

CASES = [
    # The end of a session of MongoDB aborts its transaction.
    good(
        _RELEASED,
        "javascript",
        """
        async function transfer(client, from, to, cents) {
          const session = client.startSession();
          session.startTransaction();
          try {
            await accounts.updateOne({ _id: from }, { $inc: { cents: -cents } }, { session });
            await accounts.updateOne({ _id: to }, { $inc: { cents } }, { session });
            await session.commitTransaction();
          } finally {
            await session.endSession();
          }
        }
        """,
    ),
    good(
        _RELEASED,
        "typescript",
        """
        async function transfer(client: MongoClient, from: string, to: string, cents: number) {
          await using session = client.startSession();
          session.startTransaction();
          const row = await accounts.findOne({ _id: from }, { session });
          if (row === null) return false;
          await accounts.updateOne({ _id: to }, { $inc: { cents } }, { session });
          await session.commitTransaction();
          return true;
        }
        """,
    ),
    bad(
        _RELEASED,
        "javascript",
        """
        async function transfer(session, from, to, cents) {
          session.startTransaction();
          await accounts.updateOne({ _id: from }, { $inc: { cents: -cents } }, { session });
          await accounts.updateOne({ _id: to }, { $inc: { cents } }, { session });
          await session.commitTransaction();
        }
        """,
        2,
    ),
    # One finding of a function whose transaction is not rolled back, and that also leaves before the commit.
    bad(
        _RELEASED,
        "javascript",
        """
        async function rename(client, id, name) {
          await client.query("BEGIN");
          const { rows } = await client.query("SELECT name FROM users WHERE id = $1", [id]);
          if (rows[0].name === name) {
            return false;
          }
          await client.query("UPDATE users SET name = $2 WHERE id = $1", [id, name]);
          await client.query("COMMIT");
          return true;
        }
        """,
        2,
    ),
    # The connection is closed and replaced: what it had begun is gone.
    good(
        _RELEASED,
        "python",
        """
        class Store:
            def add(self, row):
                try:
                    self.conn.execute("INSERT INTO rows VALUES (?)", (row,))
                    self.conn.commit()
                except Error:
                    log.exception("insert failed")
                    self.conn.close()
                    self.conn = connect(self.path)
        """,
    ),
    good(
        _RELEASED,
        "python",
        """
        class Store:
            def add(self, row):
                try:
                    self.conn.execute("INSERT INTO rows VALUES (?)", (row,))
                    self.conn.commit()
                except Error:
                    log.exception("insert failed")
                    self.conn = None
        """,
    ),
    bad(
        _RELEASED,
        "python",
        """
        class Store:
            def add(self, row):
                try:
                    self.conn.execute("INSERT INTO rows VALUES (?)", (row,))
                    self.conn.commit()
                except Error:
                    log.exception("insert failed")
                    self.cursor.close()
        """,
        6,
    ),
    # An answer that says that it failed.
    good(
        _EMPTY,
        "python",
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.get("/items")
        async def items():
            try:
                return {"success": True, "items": await store.load()}
            except Exception:
                log.error("load failed")
                return {"success": False, "items": []}
        """,
    ),
    bad(
        _EMPTY,
        "python",
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.get("/items")
        async def items():
            try:
                return {"more": True, "items": await store.load()}
            except Exception:
                log.error("load failed")
                return {"more": False, "items": []}
        """,
        7,
    ),
    good(
        _EMPTY,
        "typescript",
        """
        import express from "express";
        const app = express();
        app.get("/items", async (req, res) => {
          try {
            res.json({ ok: true, items: await store.load() });
          } catch (err) {
            logger.error(err);
            res.json({ ok: false, items: [] });
          }
        });
        """,
    ),
    # The proof of who asks is no state that two requests could find: a password is compared, and replaced.
    good(
        _CLAIMED,
        "python",
        """
        def change_password(session, user_id, old, new):
            user = session.get(User, user_id)
            if not verify(old, user.password_hash):
                raise PermissionError("wrong password")
            user.password_hash = hash_password(new)
            session.commit()
        """,
    ),
    good(
        _CLAIMED,
        "typescript",
        """
        async function changeEmail(repo: Repo, id: string, old: string, email: string) {
          const user = await repo.findOne({ where: { id } });
          if (user.email !== old) {
            throw new Error("not your address");
          }
          user.email = email;
          await repo.save(user);
        }
        """,
    ),
    bad(
        _CLAIMED,
        "python",
        """
        def issue(session, ticket_id, now):
            ticket = session.get(Ticket, ticket_id)
            if ticket.issued_at:
                raise ValueError("issued before")
            ticket.issued_at = now
            session.commit()
        """,
        3,
    ),
    bad(
        _CLAIMED,
        "java",
        """
        package a;
        class Tickets {
            private final TicketRepository tickets;
            void issue(long id, Instant now) {
                Ticket ticket = tickets.findById(id).orElseThrow();
                if (ticket.getIssuedAt() != null) {
                    throw new IllegalStateException("issued before");
                }
                ticket.setIssuedAt(now);
                tickets.save(ticket);
            }
        }
        """,
        6,
    ),
    bad(
        _CLAIMED,
        "python",
        """
        def redeem(session, coupon_id, user):
            coupon = session.get(Coupon, coupon_id)
            if coupon.is_used and not user.is_admin:
                raise ValueError("used before")
            coupon.is_used = True
            session.commit()
        """,
        3,
    ),
    bad(
        _CLAIMED,
        "csharp",
        """
        class Seats {
            public async Task Hold(Guid id, string who) {
                var seat = await db.Seats.SingleAsync(s => s.Id == id);
                if (!string.IsNullOrEmpty(seat.HeldBy)) {
                    throw new InvalidOperationException("held");
                }
                seat.HeldBy = who;
                await db.SaveChangesAsync();
            }
        }
        """,
        4,
    ),
    bad(
        _CLAIMED,
        "typescript",
        """
        async function move(repo: Repo, id: string, from: string, to: string) {
          const order = await repo.findOne({ where: { id } });
          if (order.status !== from) {
            throw new Error("moved before");
          }
          order.status = to;
          await repo.save(order);
        }
        """,
        3,
    ),
    good(
        _CLAIMED,
        "java",
        """
        package a;
        class Accounts {
            private final UserRepository users;
            private final PasswordEncoder encoder;
            void change(long id, ChangeRequest change) {
                User user = users.findById(id).orElseThrow();
                if (!encoder.matches(change.getOld(), user.getPasswordHash())) {
                    throw new IllegalArgumentException("wrong password");
                }
                user.setPasswordHash(encoder.encode(change.getNew()));
                users.save(user);
            }
            void rename(long id, String old, String name) {
                User user = users.findById(id).orElseThrow();
                if (!old.equals(user.getName())) {
                    throw new IllegalArgumentException("another name");
                }
                user.setName(name);
                users.save(user);
            }
        }
        """,
    ),
    # HttpClient throws TaskCanceledException at its own timeout: the token of the caller is alive.
    good(
        _CANCELLED,
        "csharp",
        """
        class Sender {
            private readonly HttpClient http;
            public async Task Send(Order order, CancellationToken ct) {
                try {
                    await http.PostAsync("/orders", order.Body(), ct);
                } catch (TaskCanceledException) {
                    await queue.PutAsync(order, ct);
                }
            }
        }
        """,
    ),
    good(
        _CANCELLED,
        "csharp",
        """
        class Sender {
            public async Task Send(Order order, CancellationToken ct) {
                using var limited = CancellationTokenSource.CreateLinkedTokenSource(ct);
                limited.CancelAfter(1000);
                try {
                    await broker.SendAsync(order, limited.Token);
                } catch (OperationCanceledException) {
                    await queue.PutAsync(order, ct);
                }
            }
        }
        """,
    ),
    bad(
        _CANCELLED,
        "csharp",
        """
        class Sender {
            public async Task Send(Order order, CancellationToken ct) {
                try {
                    await broker.SendAsync(order, ct);
                } catch (OperationCanceledException) {
                    await orders.MarkFailedAsync(order, ct);
                }
            }
        }
        """,
        6,
    ),
    # Receivers that end in the letters of a name of tests.
    bad(
        _CANCELLED,
        "go",
        """
        package a
        import "context"
        func (s *Jobs) Run(ctx context.Context, key string) error {
            defer s.client.Release(ctx, key)
            return s.work(ctx, key)
        }
        """,
        4,
    ),
    bad(
        _CANCELLED,
        "go",
        """
        package a
        import "context"
        func Run(ctx context.Context, rdb Store, key string) error {
            defer rdb.Del(ctx, key)
            return work(ctx, key)
        }
        """,
        4,
    ),
    good(
        _CANCELLED,
        "go",
        """
        package a
        import "context"
        func (s *Jobs) Run(ctx context.Context, key string) error {
            defer s.metrics.RecordDone(ctx, key)
            return s.work(ctx, key)
        }
        """,
    ),
    # What a list of this function is given is stored nowhere.
    good(
        _LOGGED,
        "python",
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.post("/visits")
        async def visit(body: Visit):
            tags = []
            try:
                tags.append(await geo.city(body.ip))
            except Exception:
                log.warning("no city for %s", body.ip)
            await visits.insert(body, tags)
            return {"ok": True}
        """,
    ),
    bad(
        _LOGGED,
        "python",
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.post("/visits")
        async def visit(body: Visit):
            tags = [body.kind]
            try:
                await visits.append(body, tags)
            except Exception:
                log.warning("no city for %s", body.ip)
            return {"ok": True}
        """,
        8,
    ),
    bad(
        _LOGGED,
        "csharp",
        """
        [ApiController]
        public class Orders : ControllerBase {
            [HttpPost("/orders")]
            public async Task<IActionResult> Post(Order order) {
                var orders = db.Set<Order>();
                try {
                    orders.Update(order);
                    await db.SaveChangesAsync();
                } catch (Exception e) {
                    logger.LogError(e, "not stored");
                }
                return Ok();
            }
        }
        """,
        9,
    ),
    good(
        _LOGGED,
        "typescript",
        """
        import express from "express";
        const app = express();
        app.post("/forms", async (req, res) => {
          const form = new FormData();
          try {
            form.append("city", await geo.city(req.ip));
          } catch (err) {
            logger.warn("no city", err);
          }
          await sender.send(form);
          res.json({ id: 1 });
        });
        """,
    ),
    # The arguments of a program are no line of a log.
    good(
        "secret-in-log",
        "java",
        """
        package a;
        import org.apache.commons.exec.CommandLine;
        class Dump {
            void run(String user, String password) {
                CommandLine command = new CommandLine("dump");
                command.addArgument(user);
                command.addArgument(password);
            }
        }
        """,
    ),
    bad(
        "secret-in-log",
        "java",
        """
        package a;
        import org.slf4j.Logger;
        class Login {
            void run(String user, String password) {
                log.atInfo().addArgument(user).addArgument(password).log("login of {} by {}");
                log.atWarn().setMessage("login").addKeyValue("password", password).log();
            }
        }
        """,
        5,
        6,
    ),
]
