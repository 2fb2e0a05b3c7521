"""Clients, repositories and sessions that are known by the field that holds them."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

HTTP = "http-call-without-timeout"
PROGRAM = "subprocess-without-timeout"
LIMIT = "retry-without-limit"
BACKOFF = "retry-without-backoff"
AGAIN = "retry-of-non-idempotent-call"
BLOCKS = "blocking-call-in-async-code"
ITEMS = "call-per-item"
WHOLE = "whole-table-loaded"
WRITES = "writes-without-transaction"

CASES = [
    bad(HTTP, "go", """
        package a
        import "net/http"
        type Rates struct { http *http.Client }
        func New() *Rates { return &Rates{http: http.DefaultClient} }
        func (r *Rates) get(url string) (*http.Response, error) { return r.http.Get(url) }
        """, 5),
    good(HTTP, "go", """
        package a
        import ("net/http"; "time")
        type Rates struct { http *http.Client }
        func New() *Rates { return &Rates{http: &http.Client{Timeout: time.Second}} }
        func Given(client *http.Client) *Rates { return &Rates{http: client} }
        func (r *Rates) get(url string) (*http.Response, error) { return r.http.Get(url) }
        """),
    bad(HTTP, "python", """
        import requests
        class Geo:
            def __init__(self, session=None):
                self.session = session or requests.Session()
            def look(self, ip):
                return self.session.get(f"https://geo/{ip}")
        """, 6),
    bad(PROGRAM, "python", """
        import asyncio
        async def convert(path):
            program = await asyncio.create_subprocess_exec("convert", path)
            await program.communicate()
        """, 4),
    good(PROGRAM, "python", """
        import asyncio
        async def convert(path):
            program = await asyncio.create_subprocess_exec("convert", path)
            await asyncio.wait_for(program.communicate(), 30)
        """),
    bad(LIMIT, "java", """
        class Sync {
            void push(Batch batch) {
                boolean done = false;
                while (!done) {
                    try { api.push(batch); done = true; } catch (IOException e) { log.warn("again", e); }
                }
            }
        }
        """, 4),
    good(LIMIT, "java", """
        class Sync {
            void push(Batch batch) {
                boolean done = false;
                int tries = 0;
                while (!done) {
                    try { api.push(batch); done = true; }
                    catch (IOException e) { if (++tries > 4) { throw new GaveUp(e); } pause(tries); }
                }
            }
            void drain() { while (!queue.isEmpty()) { handle(queue.poll()); } }
        }
        """),
    bad(BACKOFF, "rust", """
        async fn load(http: &Client, url: &str) -> Result<String, Error> {
            let mut tries = 0;
            loop {
                match http.get(url).timeout(LIMIT).send().await {
                    Ok(res) => return Ok(res.text().await?),
                    Err(_) if tries < 5 => { tries += 1; }
                    Err(err) => return Err(err.into()),
                }
            }
        }
        """, 3),
    bad(AGAIN, "kotlin", """
        class Cards(private val rest: RestClient) {
            @Retryable(maxAttempts = 3)
            fun charge(order: Order) = rest.post().uri("/charges").body(order).retrieve().body(type)
        }
        """, 3),
    bad(BLOCKS, "python", """
        import psycopg2
        class Rows:
            def __init__(self, dsn):
                self.db = psycopg2.connect(dsn, connect_timeout=2)
            def find(self, key):
                cursor = self.db.cursor()
                cursor.execute("SELECT name FROM item WHERE id = %s", (key,))
                return cursor.fetchone()
        class Api:
            def __init__(self, rows: Rows):
                self.rows = rows
            async def show(self, key):
                return self.rows.find(key)
        """, 13),
    bad(BLOCKS, "java", """
        import reactor.core.publisher.Mono;
        class Api {
            private final JdbcTemplate jdbc;
            Mono<Item> one(String id) {
                return Mono.just(id).map(i -> jdbc.queryForObject("SELECT * FROM item", rows, i));
            }
        }
        """, 5),
    good(BLOCKS, "java", """
        import reactor.core.publisher.Mono;
        class Api {
            private final JdbcTemplate jdbc;
            Mono<Item> one(String id) {
                return Mono.fromCallable(() -> jdbc.queryForObject("SELECT * FROM item", rows, id))
                    .subscribeOn(Schedulers.boundedElastic());
            }
            Item two(String id) { return jdbc.queryForObject("SELECT * FROM item WHERE id = ?", rows, id); }
        }
        """),
    bad(BLOCKS, "kotlin", """
        class Files(private val root: java.io.File) {
            suspend fun load(name: String): ByteArray = java.io.File(name).readBytes()
        }
        """, 2),
    bad(ITEMS, "go", """
        package a
        import "context"
        type OrderRepo interface { ListOrders(ctx context.Context) ([]Order, error) }
        type S struct { repo OrderRepo }
        func (s *S) views(ctx context.Context) error {
            orders, err := s.repo.ListOrders(ctx)
            if err != nil { return err }
            for _, order := range orders {
                customer, err := s.repo.GetCustomer(ctx, order.CustomerID)
                if err != nil { return err }
                show(order, customer)
            }
            return nil
        }
        """, 9),
    bad(ITEMS, "kotlin", """
        class Views(private val orders: OrderRepository, private val customers: CustomerRepository) {
            fun all(page: Pageable) = orders.findOpen(page).map { View(it, customers.findById(it.who)) }
        }
        """, 2),
    bad(WHOLE, "java", """
        class Mails {
            private final UserRepository users;
            List<String> all() { return users.findAll().stream().map(User::getEmail).toList(); }
        }
        """, 3),
    good(WHOLE, "java", """
        class Mails {
            private final UserRepository users;
            List<String> all(Pageable p) { return users.findAll(p).stream().map(User::getEmail).toList(); }
        }
        """),
    bad(WHOLE, "typescript", """
        export class Mails {
          constructor(private readonly users: Repository<User>) {}
          async all() { return this.users.find(); }
        }
        """, 3),
    bad(WHOLE, "rust", """
        async fn all(pool: &sqlx::PgPool) -> sqlx::Result<Vec<Event>> {
            sqlx::query_as::<_, Event>("SELECT id, body FROM events").fetch_all(pool).await
        }
        """, 2),
    good(WHOLE, "rust", """
        async fn some(pool: &sqlx::PgPool) -> sqlx::Result<Vec<Event>> {
            sqlx::query_as::<_, Event>("SELECT id, body FROM events LIMIT 50").fetch_all(pool).await
        }
        async fn one(pool: &sqlx::PgPool) -> sqlx::Result<Event> {
            sqlx::query_as::<_, Event>("SELECT id, body FROM events").fetch_one(pool).await
        }
        """),
    bad(WRITES, "python", """
        async def move(pool, a, b, cents):
            async with pool.acquire() as conn:
                await conn.execute("UPDATE account SET cents = cents - $1 WHERE id = $2", cents, a)
                await conn.execute("UPDATE account SET cents = cents + $1 WHERE id = $2", cents, b)
        """, 4),
    good(WRITES, "python", """
        async def move(pool, a, b, cents):
            async with pool.acquire() as conn, conn.transaction():
                await conn.execute("UPDATE account SET cents = cents - $1 WHERE id = $2", cents, a)
                await conn.execute("UPDATE account SET cents = cents + $1 WHERE id = $2", cents, b)
        """),
    bad(WRITES, "python", """
        def checkout(session, cart):
            session.add(Order(cart=cart.id))
            session.commit()
            session.add(Payment(cart=cart.id))
            session.commit()
        """, 5),
    good(WRITES, "python", """
        def checkout(session, cart):
            session.add(Order(cart=cart.id))
            session.add(Payment(cart=cart.id))
            session.commit()
        def load(session, batches):
            for batch in batches:
                session.add_all(batch)
                session.commit()
        """),
    bad(WRITES, "java", """
        class Accounts {
            void move(long a, long b) throws SQLException {
                try (Connection con = source.getConnection()) {
                    PreparedStatement p = con.prepareStatement("UPDATE account SET v = v - 1 WHERE id = ?");
                    p.setLong(1, a);
                    p.executeUpdate();
                    PreparedStatement q = con.prepareStatement("UPDATE account SET v = v + 1 WHERE id = ?");
                    q.setLong(1, b);
                    q.executeUpdate();
                }
            }
        }
        """, 9),
]  # fmt: skip
