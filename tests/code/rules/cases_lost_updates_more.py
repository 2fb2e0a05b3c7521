"""Lost updates through prepared statements, helpers, unknown repositories and atomics."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

LOST = "lost-update"

_REFILL = """
        pub async fn refill(&self, tank: Uuid, litres: i64) -> Result<i64, Failed> {
            let row: (i64, i64) = sqlx::query_as("SELECT units, room FROM tanks WHERE id = $1%s")
                .bind(tank).fetch_one(&self.pool).await?;
            let (units, room) = row;
            let filled = %s;
            sqlx::query("UPDATE tanks SET units = $2 WHERE id = $1")
                .bind(tank).bind(filled).execute(&self.pool).await?;
            Ok(filled)
        }
        """

CASES = [
    bad(LOST, "java", """
        class Vouchers {
            @Transactional
            public void redeem(String code) {
                Instant now = clock.instant();
                Voucher voucher = vouchers.findById(code).orElse(null);
                voucher.remaining = voucher.remaining - 1;
                vouchers.save(voucher);
            }
        }
        """, 6),
    bad(LOST, "java", """
        class Stock {
            void take(Connection connection, String sku, int count) throws SQLException {
                var query = connection.prepareStatement("SELECT quantity FROM stock WHERE sku = ?");
                int quantity = read(query, sku);
                var update = connection.prepareStatement("UPDATE stock SET quantity = ? WHERE sku = ?");
                update.setInt(1, quantity - count);
                update.executeUpdate();
            }
        }
        """, 5),
    good(LOST, "java", """
        class Stock {
            void take(Connection connection, String sku, int count) throws SQLException {
                var query = connection.prepareStatement(
                    "SELECT quantity FROM stock WHERE sku = ? FOR UPDATE");
                int quantity = read(query, sku);
                var update = connection.prepareStatement("UPDATE stock SET quantity = ? WHERE sku = ?");
                update.setInt(1, quantity - count);
                update.executeUpdate();
            }
        }
        """),
    bad(LOST, "python", """
        class Wallets:
            async def balance(self, number):
                return await self.pool.fetchval("SELECT balance FROM wallets WHERE id = $1", number)
            async def spend(self, number, amount):
                left = await self.balance(number) - amount
                await self.pool.execute("UPDATE wallets SET balance = $1 WHERE id = $2", left, number)
        """, 6),
    bad(LOST, "python", """
        from sqlalchemy.orm import Session
        def transfer(session: Session, ids, amount):
            wallets = {each.id: each for each in session.scalars(select(Wallet).where(Wallet.id.in_(ids)))}
            source, target = wallets[ids[0]], wallets[ids[1]]
            source.balance = source.balance - amount
        """, 5),
    good(LOST, "python", """
        from sqlalchemy.orm import Session
        def transfer(session: Session, ids, amount):
            wallets = session.scalars(select(Wallet).where(Wallet.id.in_(ids)).with_for_update()).all()
            source = wallets[0]
            source.balance = source.balance - amount
        def start(session: Session, amount):
            wallet = Wallet(balance=0)
            wallet.balance += amount
            session.add(wallet)
        """),
    bad(LOST, "python", """
        import redis
        class Quota:
            def __init__(self, client: redis.Redis):
                self.client = client
            def allow(self, tenant):
                used = int(self.client.get(tenant) or 0)
                self.client.set(tenant, used + 1)
        """, 7),
    bad(LOST, "rust", """
        fn take(&self, count: u64) -> bool {
            let used = self.used.load(Ordering::SeqCst);
            self.used.store(used + count, Ordering::SeqCst);
            true
        }
        """, 3),
    good(LOST, "rust", """
        fn reset(&self) {
            let used = self.used.load(Ordering::SeqCst);
            report(used);
            self.used.store(0, Ordering::SeqCst);
        }
        """),
    good(LOST, "go", """
        package a
        func (q *Quota) take(n int64) {
            for {
                used := q.used.Load()
                if q.used.CompareAndSwap(used, used+n) {
                    return
                }
            }
        }
        """),
    # Sums that methods make.
    bad(LOST, "rust", _REFILL % ("", "units.checked_add(litres).ok_or(Failed::Full)?"), 6),
    good(LOST, "rust", _REFILL % (" FOR UPDATE", "units.checked_add(litres).ok_or(Failed::Full)?")),
    good(LOST, "rust", _REFILL % ("", "litres.checked_add(SPARE).ok_or(Failed::Full)?")),
    bad(LOST, "java", """
        class Cards {
            void spend(long id, BigDecimal sum) {
                BigDecimal balance = jdbc.queryForObject("SELECT balance FROM cards WHERE id = ?", TYPE, id);
                jdbc.update("UPDATE cards SET balance = ? WHERE id = ?", balance.subtract(sum), id);
            }
        }
        """, 4),
    good(LOST, "java", """
        class Cards {
            void restore(long id, BigDecimal sum) {
                BigDecimal balance = jdbc.queryForObject("SELECT balance FROM cards WHERE id = ?", TYPE, id);
                seen.add(balance);
                jdbc.update("UPDATE cards SET balance = ? WHERE id = ?", sum, id);
            }
        }
        """),
]  # fmt: skip
