"""Writes through ORMs that belong together."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

WRITES = "writes-without-transaction"

CASES = [
    bad(WRITES, "typescript", """
        import { PrismaClient } from '@prisma/client';
        export async function pay(prisma: PrismaClient, card: string, cents: number) {
          await prisma.card.update({ where: { card }, data: { cents: { decrement: cents } } });
          await prisma.order.create({ data: { card, cents } });
        }
        """, 4),
    good(WRITES, "typescript", """
        import { PrismaClient } from '@prisma/client';
        export async function pay(prisma: PrismaClient, card: string, cents: number) {
          await prisma.$transaction(async (tx) => {
            await tx.card.update({ where: { card }, data: { cents: { decrement: cents } } });
            await tx.order.create({ data: { card, cents } });
          });
        }
        export async function load(prisma: PrismaClient, card: string) {
          const found = await prisma.card.findUnique({ where: { card } });
          await prisma.view.create({ data: { card } });
          return found;
        }
        export async function charge(prisma: PrismaClient, gateway: PayGateway, id: string) {
          await prisma.payment.create({ data: { id } });
          await gateway.charge(id);
          await prisma.payment.update({ where: { id }, data: { done: true } });
        }
        """),
    bad(WRITES, "typescript", """
        import { Repository } from 'typeorm';
        export class Orders {
          constructor(private orders: Repository<Order>, private readonly stock: Repository<Stock>) {}
          async place(order: Order) {
            await this.stock.decrement({ sku: order.sku }, 'left', 1);
            await this.orders.save(order);
          }
        }
        """, 6),
    bad(WRITES, "java", """
        import org.springframework.stereotype.Service;
        class Transfers {
            private final AccountRepository accounts;
            private final EntryRepository entries;
            public void move(Account from, Entry entry) {
                accounts.save(from);
                entries.save(entry);
            }
        }
        """, 7),
    good(WRITES, "java", """
        import org.springframework.transaction.annotation.Transactional;
        class Transfers {
            private final AccountRepository accounts;
            private final EntryRepository entries;
            @Transactional
            public void move(Account from, Entry entry) {
                accounts.save(from);
                entries.save(entry);
            }
            public void either(Account from, Entry entry) {
                if (from != null) { accounts.save(from); } else { entries.save(entry); }
            }
        }
        """),
    bad(WRITES, "kotlin", """
        import org.springframework.stereotype.Service
        class Transfers(private val accounts: AccountRepository, private val entries: EntryRepository) {
            fun move(from: Account, entry: Entry) {
                accounts.save(from)
                entries.save(entry)
            }
        }
        """, 5),
    bad(WRITES, "python", """
        from django.db import models
        def move(source, target, cents):
            source.cents -= cents
            source.save()
            Entry.objects.create(account=target, cents=cents)
        """, 5),
    good(WRITES, "python", """
        from django.db import transaction
        @transaction.atomic
        def move(source, target, cents):
            source.save()
            Entry.objects.create(account=target, cents=cents)
        def one(source):
            source.save()
        """),
    bad(WRITES, "csharp", """
        class Orders {
            private readonly AppDb _db;
            public async Task Place(Order order) {
                _db.Orders.Add(order);
                await _db.SaveChangesAsync();
                _db.Stock.Remove(order.Item);
                await _db.SaveChangesAsync();
            }
        }
        """, 7),
    good(WRITES, "csharp", """
        class Orders {
            private readonly AppDb _db;
            public async Task Place(Order order) {
                _db.Orders.Add(order);
                _db.Stock.Remove(order.Item);
                await _db.SaveChangesAsync();
            }
            public async Task Two(Order order) {
                await using var tx = await _db.Database.BeginTransactionAsync();
                await _db.SaveChangesAsync();
                await _db.SaveChangesAsync();
                await tx.CommitAsync();
            }
        }
        """),
    bad(WRITES, "rust", """
        async fn redeem(pool: &sqlx::PgPool, id: i64) -> sqlx::Result<()> {
            sqlx::query("UPDATE member SET points = 0 WHERE id = $1").bind(id).execute(pool).await?;
            sqlx::query("INSERT INTO voucher (member) VALUES ($1)").bind(id).execute(pool).await?;
            Ok(())
        }
        """, 3),
    good(WRITES, "rust", """
        async fn redeem(pool: &sqlx::PgPool, id: i64) -> sqlx::Result<()> {
            let mut tx = pool.begin().await?;
            sqlx::query("UPDATE member SET points = 0 WHERE id = $1").bind(id).execute(&mut *tx).await?;
            sqlx::query("INSERT INTO voucher (member) VALUES ($1)").bind(id).execute(&mut *tx).await?;
            tx.commit().await
        }
        async fn both(tx: &mut sqlx::PgConnection, id: i64) -> sqlx::Result<()> {
            sqlx::query("UPDATE member SET points = 0 WHERE id = $1").bind(id).execute(&mut *tx).await?;
            sqlx::query("INSERT INTO voucher (member) VALUES ($1)").bind(id).execute(&mut *tx).await?;
            Ok(())
        }
        """),
    bad(WRITES, "go", """
        package a
        import "gorm.io/gorm"
        type S struct { db *gorm.DB }
        func (s *S) Place(order *Order, stock *Stock) error {
            if err := s.db.Create(order).Error; err != nil { return err }
            return s.db.Save(stock).Error
        }
        """, 6),
]  # fmt: skip
