"""Numbers that are compared, and then made less by one step that does not compare them again."""

# ruff: noqa: E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CHECKED = "checked-then-inserted"

CASES = [
    bad(
        _CHECKED,
        "python",
        """
        import redis

        store = redis.Redis()

        def take(code):
            left = int(store.get(f"left:{code}") or 0)
            if left <= 0:
                raise SoldOut(code)
            store.decr(f"left:{code}")

        def take_one(code):
            left = int(store.get(f"left:{code}") or 0)
            if left > 0:
                store.decr(f"left:{code}")
                return True
            return False

        def redeem(code):
            voucher = Voucher.objects.filter(code=code).first()
            if voucher is None or voucher.uses_left < 1:
                raise NotValid(code)
            Voucher.objects.filter(pk=voucher.pk).update(uses_left=F("uses_left") - 1)
        """,
        6,
        12,
        20,
    ),
    good(
        _CHECKED,
        "python",
        """
        import redis

        store = redis.Redis()

        def take(code):
            left = store.decr(f"left:{code}")
            if left < 0:
                store.incr(f"left:{code}")
                raise SoldOut(code)

        def redeem(code):
            voucher = Voucher.objects.filter(code=code).first()
            if voucher is None or voucher.uses_left < 1:
                raise NotValid(code)
            Voucher.objects.filter(pk=voucher.pk, uses_left__gte=1).update(uses_left=F("uses_left") - 1)
        """,
    ),
    bad(
        _CHECKED,
        "kotlin",
        """
        class Coupons(private val redis: RedisCoroutinesCommands<String, String>) {
            suspend fun redeem(campaign: String): Redemption {
                val key = "coupons:$campaign"
                val left = redis.get(key)?.toLong() ?: 0L
                if (left <= 0) {
                    return Redemption.SoldOut
                }
                return Redemption.Granted(redis.decr(key) ?: 0L)
            }
        }
        """,
        4,
    ),
    bad(
        _CHECKED,
        "rust",
        """
        use redis::AsyncCommands;

        async fn take(&self, key: String) -> Result<Option<i64>, RedisError> {
            let mut redis = self.redis.clone();
            let left: Option<i64> = redis.get(&key).await?;
            match left {
                Some(left) if left > 0 => redis.decr(&key, 1).await.map(Some),
                _ => Ok(None),
            }
        }
        """,
        5,
    ),
    bad(
        _CHECKED,
        "typescript",
        """
        export async function redeem(prisma: PrismaClient, code: string) {
          const voucher = await prisma.voucher.findUnique({ where: { code } });
          if (!voucher || voucher.usesLeft < 1) throw new Error("used up");
          await prisma.voucher.update({ where: { code }, data: { usesLeft: { decrement: 1 } } });
        }

        export async function reserve(db: Db, id: string) {
          const slot = await db.collection("slots").findOne({ _id: id });
          if (slot.left <= 0) return { error: "full" };
          await db.collection("slots").updateOne({ _id: id }, { $inc: { left: -1 } });
        }
        """,
        3,
        9,
    ),
    good(
        _CHECKED,
        "typescript",
        """
        export async function redeem(prisma: PrismaClient, code: string) {
          const voucher = await prisma.voucher.findUnique({ where: { code } });
          if (!voucher || voucher.usesLeft < 1) throw new Error("used up");
          await prisma.voucher.update({ where: { code, usesLeft: { gt: 0 } }, data: { usesLeft: { decrement: 1 } } });
        }

        export async function reserve(db: Db, id: string) {
          const slot = await db.collection("slots").findOne({ _id: id });
          if (slot.left <= 0) return { error: "full" };
          await db.collection("slots").updateOne({ _id: id, left: { $gt: 0 } }, { $inc: { left: -1 } });
        }
        """,
    ),
    bad(
        _CHECKED,
        "csharp",
        """
        public async Task<bool> Take(int id)
        {
            var trip = await db.Trips.SingleAsync(t => t.Id == id);
            if (trip.Seats <= 0) return false;
            await db.Trips.Where(t => t.Id == id).ExecuteUpdateAsync(s => s.SetProperty(t => t.Seats, t => t.Seats - 1));
            return true;
        }
        """,
        4,
    ),
    bad(
        _CHECKED,
        "go",
        """
        func (s *Store) Take(id int) error {
            var trip Trip
            if err := s.db.First(&trip, id).Error; err != nil {
                return err
            }
            if trip.Seats < 1 {
                return ErrFull
            }
            return s.db.Model(&Trip{}).Where("id = ?", id).UpdateColumn("seats", gorm.Expr("seats - ?", 1)).Error
        }
        """,
        6,
    ),
    bad(
        _CHECKED,
        "java",
        """
        class Desks {
            private final JdbcClient jdbc;

            void book(UUID desk, LocalDate day) {
                if (countActive(desk, day) > 0) {
                    throw new DeskTaken(desk);
                }
                jdbc.sql("insert into booking (desk, day) values (?, ?)").params(desk, day).update();
            }

            private long countActive(UUID desk, LocalDate day) {
                return jdbc.sql("select count(*) from booking where desk = ? and day = ?")
                        .params(desk, day).query(Long.class).single();
            }
        }
        """,
        8,
    ),
    bad(
        "lost-update",
        "go",
        """
        func (s *Store) Redeem(code string) error {
            var v Voucher
            if err := s.db.Get(&v, `SELECT code, remaining FROM vouchers WHERE code = $1`, code); err != nil {
                return err
            }
            v.Remaining--
            _, err := s.db.NamedExec(`UPDATE vouchers SET remaining = :remaining WHERE code = :code`, v)
            return err
        }
        """,
        7,
    ),
]
