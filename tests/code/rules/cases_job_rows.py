"""Jobs that load all rows that match at once and work on them in batches."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

WHOLE = "whole-table-loaded"

CASES = [
    bad(WHOLE, "kotlin", """
        interface AccountRepository : JpaRepository<Account, Long> {
            fun findByLastLoginBefore(limit: Instant): List<Account>
        }
        class Dormant(private val accounts: AccountRepository) {
            @Scheduled(cron = "0 30 3 * * *")
            fun mark() {
                val dormant = accounts.findByLastLoginBefore(cutoff())
                for (batch in dormant.chunked(500)) update(batch)
            }
        }
        """, 7),
    good(WHOLE, "kotlin", """
        interface AccountRepository : JpaRepository<Account, Long> {
            fun findTop500ByLastLoginBeforeAndIdGreaterThanOrderById(limit: Instant, id: Long): List<Account>
            fun findByTeamId(team: Long): List<Account>
        }
        class Dormant(private val accounts: AccountRepository) {
            @Scheduled(cron = "0 30 3 * * *")
            fun mark() {
                var last = 0L
                while (true) {
                    val batch = accounts.findTop500ByLastLoginBeforeAndIdGreaterThanOrderById(cutoff(), last)
                    if (batch.isEmpty()) break
                    update(batch)
                    last = batch.last().id
                }
            }
            fun show(team: Long) = accounts.findByTeamId(team).chunked(3)
        }
        """),
    bad(WHOLE, "java", """
        class Reminders {
            private final InvoiceRepository invoices;
            @Scheduled(cron = "0 0 3 * * *") void remind() {
                List<Invoice> due = invoices.findByDueAtBefore(now());
                for (List<Invoice> part : Lists.partition(due, 200)) mailer.send(part);
            }
        }
        """, 4),
    bad(WHOLE, "csharp", """
        using Microsoft.EntityFrameworkCore;
        public class PurgeJob(AppDbContext db) {
            public async Task Execute(CancellationToken ct) {
                var old = await db.Sessions.Where(s => s.ExpiresAt < now).ToListAsync(ct);
                foreach (var part in old.Chunk(500)) await Remove(part);
            }
        }
        """, 4),
    bad(WHOLE, "python", """
        @shared_task
        def remind():
            users = list(User.objects.filter(last_login__lt=cutoff()))
            for i in range(0, len(users), 500):
                send(users[i:i + 500])
        """, 3),
    good(WHOLE, "python", """
        @shared_task
        def remind():
            for part in batched(User.objects.filter(last_login__lt=cutoff()).iterator(500), 500):
                send(part)
        def show(team):
            users = list(User.objects.filter(team=team))
            return [users[i:i + 3] for i in range(0, len(users), 3)]
        """),
    bad(WHOLE, "typescript", """
        import { chunk } from 'lodash';
        export class DigestJob {
            constructor(private readonly users: Repository<User>) {}
            async run() {
                const users = await this.users.find({ where: { active: true } });
                for (const part of chunk(users, 100)) await this.mail(part);
            }
        }
        """, 5),
    bad(WHOLE, "go", """
        func (j *ArchiveJob) Run() error {
            var rows []Order
            if err := j.db.Where("closed_at < ?", cutoff).Find(&rows).Error; err != nil {
                return err
            }
            for i := 0; i < len(rows); i += 500 {
                end := min(i+500, len(rows))
                j.store(rows[i:end])
            }
            return nil
        }
        """, 3),
]  # fmt: skip
