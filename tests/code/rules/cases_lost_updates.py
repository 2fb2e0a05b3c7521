"""Rows that are read, changed and written back, and rows that are inserted if they do not exist."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LOST = "lost-update"
_CHECKED = "checked-then-inserted"

CASES = [
    bad(
        _LOST,
        "python",
        """
        class Wallets:
            def debit(self, user, cents):
                wallet = self.wallets.find_one({"user": user})
                if wallet["balance"] < cents:
                    raise ValueError("funds")
                left = wallet["balance"] - cents
                self.wallets.update_one({"user": user}, {"$set": {"balance": left}})
        """,
        7,
    ),
    good(
        _LOST,
        "python",
        """
        class Wallets:
            def debit(self, user, cents):
                wallet = self.wallets.find_one({"user": user})
                left = wallet["balance"] - cents
                found = {"user": user, "balance": wallet["balance"]}
                self.wallets.update_one(found | {"balance": wallet["balance"]}, {"$set": {"balance": left}})
            def show(self, user, cents):
                wallet = self.wallets.find_one({"user": user})
                left = wallet["balance"] - cents
                self.views.update({"left": left})
        """,
    ),
    bad(
        _LOST,
        "typescript",
        """
        export async function add(prisma: PrismaClient, id: string, earned: number) {
          const member = await prisma.member.findUniqueOrThrow({ where: { id } });
          const points = member.points + earned;
          return prisma.member.update({ where: { id }, data: { points } });
        }
        """,
        4,
    ),
    good(
        _LOST,
        "typescript",
        """
        export async function add(prisma: PrismaClient, id: string, earned: number) {
          const member = await prisma.member.findUniqueOrThrow({ where: { id } });
          const points = member.points + earned;
          await prisma.member.update({ where: { id }, data: { points: { increment: earned } } });
          return points;
        }
        """,
    ),
    bad(
        _LOST,
        "kotlin",
        """
        import org.jetbrains.exposed.sql.*
        class Stock(private val items: ItemRepository) {
            @Transactional
            fun take(sku: String, count: Int) {
                val item = items.findBySku(sku) ?: throw Missing(sku)
                item.quantity -= count
            }
            fun spend(user: Long, cents: Long) = transaction {
                val balance = Wallets.selectAll().where { Wallets.user eq user }.single()[Wallets.balance]
                Wallets.update({ Wallets.user eq user }) {
                    it[Wallets.balance] = balance - cents
                }
            }
        }
        """,
        6,
        11,
    ),
    good(
        _LOST,
        "kotlin",
        """
        import org.jetbrains.exposed.sql.*
        class Stock(private val items: ItemRepository) {
            fun show(sku: String, count: Int): Item? {
                val item = items.findBySku(sku) ?: return null
                item.quantity -= count
                return item
            }
            fun spend(user: Long, cents: Long) = transaction {
                Wallets.update({ Wallets.user eq user }) {
                    it[balance] = balance - cents
                }
            }
        }
        """,
    ),
    bad(
        _LOST,
        "csharp",
        """
        public class Seats(CinemaContext db)
        {
            public async Task Reserve(int id, int seats)
            {
                var show = await db.Shows.SingleAsync(s => s.Id == id);
                show.SeatsLeft -= seats;
                await db.SaveChangesAsync();
            }
        }
        """,
        6,
    ),
    good(
        _LOST,
        "csharp",
        """
        public class Seats(CinemaContext db)
        {
            public async Task Reserve(int id, int seats)
            {
                try
                {
                    var show = await db.Shows.SingleAsync(s => s.Id == id);
                    show.SeatsLeft -= seats;
                    await db.SaveChangesAsync();
                }
                catch (DbUpdateConcurrencyException)
                {
                    throw new Busy();
                }
            }
        }
        """,
    ),
    bad(
        _LOST,
        "rust",
        """
        use sea_orm::*;
        pub async fn withdraw(pool: &PgPool, id: i64, cents: i64) -> Result<(), Error> {
            let balance: i64 = sqlx::query_scalar("SELECT balance FROM accounts WHERE id = $1")
                .bind(id)
                .fetch_one(pool)
                .await?;
            sqlx::query("UPDATE accounts SET balance = $1 WHERE id = $2")
                .bind(balance - cents)
                .bind(id)
                .execute(pool)
                .await?;
            Ok(())
        }
        pub async fn take(db: &DatabaseConnection, id: i32, count: i32) -> Result<(), Error> {
            let item = item::Entity::find_by_id(id).one(db).await?.ok_or(Error::Missing)?;
            let left = item.stock - count;
            let mut active: item::ActiveModel = item.into();
            active.stock = Set(left);
            active.update(db).await?;
            Ok(())
        }
        """,
        7,
        18,
    ),
    bad(
        _LOST,
        "java",
        """
        class Withdrawals {
            private final AccountRepository accounts;
            @Transactional
            public void withdraw(long id, BigDecimal amount) {
                Account account = accounts.findById(id).orElseThrow();
                if (account.getBalance().compareTo(amount) < 0) {
                    throw new Funds();
                }
                account.setBalance(account.getBalance().subtract(amount));
            }
        }
        """,
        9,
    ),
    bad(
        _CHECKED,
        "java",
        """
        class Registration {
            private final UserRepository users;
            User register(String email) {
                if (users.existsByEmail(email)) {
                    throw new Taken(email);
                }
                return users.save(new User(email));
            }
        }
        """,
        7,
    ),
    good(
        _CHECKED,
        "java",
        """
        class Registration {
            private final UserRepository users;
            private final AuditRepository audits;
            User rename(long id, String name) {
                User user = users.findById(id).orElse(null);
                if (user == null) {
                    throw new Missing(id);
                }
                audits.save(new Audit(id));
                user.setName(name);
                return users.save(user);
            }
        }
        """,
    ),
    bad(
        _CHECKED,
        "go",
        """
        package slots
        func (r *Repo) Book(ctx context.Context, slot int64) error {
        	var n int
        	if err := r.db.QueryRowContext(ctx, "SELECT id FROM bookings WHERE x").Scan(&n); err != nil {
        		return err
        	}
        	if n > 0 {
        		return ErrTaken
        	}
        	_, err := r.db.ExecContext(ctx, "INSERT INTO bookings (slot) VALUES ($1)", slot)
        	return err
        }
        """,
        10,
    ),
    good(
        _CHECKED,
        "go",
        """
        package slots
        func (r *Repo) Book(ctx context.Context, slot int64) error {
        	var n int
        	if err := r.db.QueryRowContext(ctx, "SELECT id FROM bookings WHERE x").Scan(&n); err != nil {
        		return err
        	}
        	log.Printf("%d", n)
        	_, err := r.db.ExecContext(ctx, "INSERT INTO bookings (slot) VALUES ($1)", slot)
        	return err
        }
        """,
    ),
    bad(
        _CHECKED,
        "csharp",
        """
        public class Coupons(ShopContext db)
        {
            public async Task<bool> Redeem(int customer, string code)
            {
                if (await db.Redemptions.AnyAsync(r => r.Customer == customer && r.Code == code))
                {
                    return false;
                }
                db.Redemptions.Add(new Redemption(customer, code));
                await db.SaveChangesAsync();
                return true;
            }
        }
        """,
        9,
    ),
    bad(
        _CHECKED,
        "typescript",
        """
        export class Webhooks {
          constructor(private readonly prisma: PrismaClient) {}
          async handle(event: Event) {
            const seen = await this.prisma.processed.findFirst({ where: { event: event.id } });
            if (seen) return;
            await this.prisma.processed.create({ data: { event: event.id } });
          }
        }
        """,
        6,
    ),
    good(
        _CHECKED,
        "typescript",
        """
        export class Webhooks {
          constructor(private readonly prisma: PrismaClient) {}
          async handle(event: Event) {
            try {
              await this.prisma.processed.create({ data: { event: event.id } });
            } catch (error) {
              if (error.code !== 'P2002') throw error;
            }
          }
        }
        """,
    ),
    bad(
        _CHECKED,
        "python",
        """
        def register(session, email):
            known = session.query(Member).filter(Member.email == email).first()
            if known is not None:
                raise Taken(email)
            session.add(Member(email=email))
            session.commit()
        """,
        5,
    ),
]
