"""Cases of rows and keys that another request may take or change between two steps."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "checked-then-inserted",
        "python",
        """
        import redis.asyncio as redis
        class Holds:
            def __init__(self, client: redis.Redis):
                self.redis = client
            async def hold(self, seat, who):
                key = f"seat:{seat}"
                owner = await self.redis.get(key)
                if owner is not None:
                    return owner == who
                await self.redis.set(key, who, ex=600)
                return True
            async def join(self, room, user):
                if await self.redis.scard(f"room:{room}") >= 10:
                    raise RoomFull(room)
                await self.redis.sadd(f"room:{room}", user)
        """,
        7,
        13,
    ),
    bad(
        "checked-then-inserted",
        "kotlin",
        """
        class Seats(private val jdbc: NamedParameterJdbcTemplate, private val clock: Clock) {
            @Transactional
            fun book(seatId: UUID, who: UUID) {
                val status = jdbc.queryForObject(
                    "SELECT status FROM seats WHERE id = :id", mapOf("id" to seatId), String::class.java)
                if (status != "FREE") {
                    throw SeatTaken(seatId)
                }
                jdbc.update("UPDATE seats SET status = 'TAKEN', holder = :who WHERE id = :id",
                    mapOf("who" to who, "id" to seatId))
            }
        }
        """,
        4,
    ),
    bad(
        "checked-then-inserted",
        "javascript",
        """
        const { Pool } = require('pg');
        const pool = new Pool();
        async function accept(offerId, driverId) {
          const { rows } = await pool.query('SELECT status FROM offers WHERE id = $1', [offerId]);
          if (rows.length === 0 || rows[0].status !== 'open') {
            return { accepted: false };
          }
          await pool.query("UPDATE offers SET status = 'taken', driver_id = $2 WHERE id = $1",
            [offerId, driverId]);
          return { accepted: true };
        }
        module.exports = { accept };
        """,
        4,
    ),
    bad(
        "checked-then-inserted",
        "typescript",
        """
        import { PrismaClient } from '@prisma/client';
        export class Coupons {
          constructor(private readonly prisma: PrismaClient) {}
          async redeem(code: string, userId: string) {
            const coupon = await this.prisma.coupon.findUnique({ where: { code } });
            if (!coupon || coupon.redeemedBy) {
              throw new Error('not available');
            }
            await this.prisma.coupon.update({ where: { code }, data: { redeemedBy: userId } });
          }
          async join(courseId: string, userId: string) {
            const taken = await this.prisma.enrolment.count({ where: { courseId } });
            if (taken >= 30) throw new Error('full');
            await this.prisma.enrolment.create({ data: { courseId, userId } });
          }
        }
        """,
        6,
        14,
    ),
    bad(
        "checked-then-inserted",
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;
        public class Enrolments {
          private readonly AppDb _db;
          private readonly TimeProvider _clock;
          public Enrolments(AppDb db, TimeProvider clock) { _db = db; _clock = clock; }
          public async Task<bool> Enrol(Guid course, Guid user, CancellationToken ct) {
            var taken = await _db.Enrolments.CountAsync(e => e.CourseId == course, ct);
            if (taken >= 30) return false;
            _db.Enrolments.Add(new Enrolment(course, user, _clock.GetUtcNow()));
            await _db.SaveChangesAsync(ct);
            return true;
          }
          public async Task Claim(Guid id, Guid user, CancellationToken ct) {
            var slot = await _db.Slots.FirstOrDefaultAsync(s => s.Id == id, ct);
            if (slot is null || slot.HolderId != null) throw new SlotTaken();
            slot.HolderId = user;
            await _db.SaveChangesAsync(ct);
          }
        }
        """,
        9,
        15,
    ),
    bad(
        "checked-then-inserted",
        "rust",
        """
        use sqlx::PgPool;
        pub async fn book(pool: &PgPool, slot: i64, who: i64) -> anyhow::Result<()> {
            let row = sqlx::query!("SELECT patient_id FROM slots WHERE id = $1", slot).fetch_one(pool).await?;
            if row.patient_id.is_some() {
                anyhow::bail!("taken");
            }
            sqlx::query!("UPDATE slots SET patient_id = $1 WHERE id = $2", who, slot).execute(pool).await?;
            Ok(())
        }
        """,
        3,
    ),
    bad(
        "checked-then-inserted",
        "python",
        """
        from django.db import transaction
        from .models import Voucher
        @transaction.atomic
        def redeem(code, user):
            voucher = Voucher.objects.get(code=code)
            if voucher.redeemed_by is not None:
                raise AlreadyRedeemed(code)
            voucher.redeemed_by = user
            voucher.save(update_fields=["redeemed_by"])
        """,
        6,
    ),
    bad(
        "checked-then-inserted",
        "go",
        """
        package a
        import ("context"; "errors"; "database/sql"; "github.com/redis/go-redis/v9")
        type S struct { rdb *redis.Client; db *sql.DB }
        func (s *S) Acquire(ctx context.Context, acc string, max int64) (bool, error) {
            n, err := s.rdb.ZCard(ctx, "streams:"+acc).Result()
            if err != nil {
                return false, err
            }
            if n >= max {
                return false, nil
            }
            return true, s.rdb.ZAdd(ctx, "streams:"+acc, redis.Z{Score: 1, Member: "one"}).Err()
        }
        func (s *S) Book(ctx context.Context, id, who string) error {
            var holder sql.NullString
            err := s.db.QueryRowContext(ctx, `SELECT patient_id FROM slots WHERE id = $1`, id).Scan(&holder)
            if err != nil {
                return err
            }
            if holder.Valid {
                return errors.New("taken")
            }
            _, err = s.db.ExecContext(ctx, `UPDATE slots SET patient_id = $1 WHERE id = $2`, who, id)
            return err
        }
        """,
        5,
        16,
    ),
    good(
        "checked-then-inserted",
        "javascript",
        """
        const { Pool } = require('pg');
        const pool = new Pool();
        async function accept(offerId, driverId) {
          const { rows } = await pool.query('SELECT status FROM offers WHERE id = $1', [offerId]);
          if (rows.length === 0 || rows[0].status !== 'open') {
            return { accepted: false };
          }
          await pool.query("UPDATE offers SET status = 'taken', who = $2 WHERE id = $1 AND status = 'open'",
            [offerId, driverId]);
          return { accepted: true };
        }
        module.exports = { accept };
        """,
    ),
    good(
        "checked-then-inserted",
        "javascript",
        """
        const { Pool } = require('pg');
        const pool = new Pool();
        async function accept(offerId, driverId) {
          const { rows } = await pool.query('SELECT status FROM offers WHERE id = $1', [offerId]);
          if (rows.length === 0 || rows[0].status !== 'open') {
            return;
          }
          await pool.query("UPDATE offers SET status = 'taken', driver_id = $2 WHERE id = $1",
            [offerId, driverId]);
          return { accepted: true };
        }
        module.exports = { accept };
        """,
    ),
    good(
        "checked-then-inserted",
        "typescript",
        """
        import { PrismaClient } from '@prisma/client';
        export class Coupons {
          constructor(private readonly prisma: PrismaClient) {}
          async redeem(code: string, userId: string) {
            const coupon = await this.prisma.coupon.findUnique({ where: { code } });
            if (!coupon || coupon.redeemedBy) {
              throw new Error('not available');
            }
            await this.db.coupon.update({ where: { code, redeemedBy: null }, data: { redeemedBy: userId } });
          }
          async list(courseId: string, userId: string) {
            const taken = await this.prisma.enrolment.count({ where: { courseId } });
            if (taken >= 30) throw new Error('full');
          }
        }
        """,
    ),
    good(
        "checked-then-inserted",
        "python",
        """
        from django.db import transaction
        from .models import Voucher
        @transaction.atomic
        def redeem(code, user):
            voucher = Voucher.objects.select_for_update().get(code=code)
            if voucher.redeemed_by is not None:
                raise AlreadyRedeemed(code)
            voucher.redeemed_by = user
            voucher.save(update_fields=["redeemed_by"])
        """,
    ),
    good(
        "checked-then-inserted",
        "kotlin",
        """
        class Gates(private val validations: ValidationRepository, private val clock: Clock) {
            fun validate(id: UUID): Boolean {
                if (validations.existsById(id)) return false
                validations.save(Validation(id, clock.instant()))
                return true
            }
        }
        """,
    ),
    bad(
        "checked-then-inserted",
        "java",
        """
        @Service
        class Seats {
            private final EnrolmentRepository enrolments;
            private final Clock clock;
            UUID enrol(UUID cohort, UUID learner, int seats) {
                if (enrolments.countByCohortId(cohort) >= seats) {
                    throw new CohortFull(cohort);
                }
                try {
                    return enrolments.save(new Enrolment(cohort, learner, clock.instant())).getId();
                } catch (DataIntegrityViolationException e) {
                    throw new AlreadyEnrolled(learner);
                }
            }
        }
        """,
        10,
    ),
    bad(
        "lost-update",
        "python",
        """
        from sqlalchemy import select
        class Wallets:
            def debit(self, wallet_id, amount):
                with self._sessions.begin() as session:
                    wallet = session.scalars(select(Wallet).where(Wallet.id == wallet_id)).one()
                    if wallet.balance < amount:
                        raise InsufficientFunds(wallet_id)
                    wallet.balance -= amount
        """,
        8,
    ),
    good(
        "lost-update",
        "python",
        """
        from sqlalchemy import select
        class Wallets:
            def debit(self, wallet_id, amount):
                with self._sessions.begin() as session:
                    found = select(Wallet).where(Wallet.id == wallet_id).with_for_update()
                    wallet = session.scalars(found).one()
                    if wallet.balance < amount:
                        raise InsufficientFunds(wallet_id)
                    wallet.balance -= amount
        """,
    ),
    bad(
        "lost-update",
        "java",
        """
        class Accounts {
            private final AccountRepository accounts;
            @Transactional
            void debit(UUID id, BigDecimal amount) {
                Account account = accounts.findById(id).orElseThrow();
                BigDecimal left = account.getBalance().subtract(amount);
                account.setBalance(left);
            }
        }
        """,
        7,
    ),
]
