"""Cases of locks, permits, connections and transactions that stay taken too long."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "request-in-transaction",
        "typescript",
        """
        import { PrismaClient } from '@prisma/client';
        export class Registry {
          async lookup(npi: string): Promise<Entry> {
            const response = await fetch(`${this.baseUrl}/${npi}`, { signal: AbortSignal.timeout(5000) });
            return response.json();
          }
        }
        export class Enrolment {
          constructor(private readonly prisma: PrismaClient, private readonly registry: Registry) {}
          async approve(id: string, npi: string) {
            return this.prisma.$transaction(async (tx) => {
              const entry = await this.registry.lookup(npi);
              await tx.provider.create({ data: { id, npi: entry.npi } });
            });
          }
        }
        """,
        12,
    ),
    bad(
        "request-in-transaction",
        "typescript",
        """
        export class Sealing {
          constructor(private readonly prisma: PrismaService, private readonly tsa: TimestampAuthority) {}
          async seal(id: string, digest: string) {
            await this.prisma.$transaction(async (tx) => {
              const stamp = await this.tsa.stamp(digest);
              await tx.timestamp.create({ data: { id, serial: stamp.serial } });
            });
          }
        }
        """,
        5,
    ),
    good(
        "request-in-transaction",
        "typescript",
        """
        export class Sealing {
          constructor(
            private readonly prisma: PrismaService,
            private readonly audit: Audit,
            private readonly repo: SealRepository,
          ) {}
          async seal(id: string, digest: string) {
            await this.prisma.$transaction(async (tx) => {
              await this.audit.append(tx, id);
              await this.repo.save(id, digest);
              await tx.seal.create({ data: { id, digest } });
            });
          }
        }
        """,
    ),
    bad(
        "request-in-transaction",
        "java",
        """
        class Review {
            private final CreativeRepository creatives;
            private final AssetScanner scanner;
            @Transactional
            public void review(UUID id, URI asset) {
                Creative creative = creatives.findByIdForUpdate(id).orElseThrow();
                creative.apply(scanner.scan(asset));
            }
        }
        """,
        7,
    ),
    good(
        "request-in-transaction",
        "java",
        """
        class Review {
            private final CreativeRepository creatives;
            private final ReviewPolicy policy;
            private final Clock clock;
            @Transactional
            public void review(UUID id, Report report) {
                Creative creative = creatives.findByIdForUpdate(id).orElseThrow();
                creative.apply(policy.outcome(report), clock.instant());
            }
        }
        """,
    ),
    bad(
        "lock-held-over-io",
        "go",
        """
        package registry
        import ("context"; "sync")
        type Session interface { ReadPower(ctx context.Context) (float64, error) }
        type entry struct { session Session; last float64 }
        type Registry struct { mu sync.RWMutex; entries map[string]*entry }
        func (r *Registry) Add(id string, s Session) {
            r.mu.Lock()
            defer r.mu.Unlock()
            r.entries[id] = &entry{session: s}
        }
        func (r *Registry) PollAll(ctx context.Context) {
            r.mu.RLock()
            defer r.mu.RUnlock()
            for _, e := range r.entries {
                if err := e.poll(ctx); err != nil {
                    continue
                }
            }
        }
        func (e *entry) poll(ctx context.Context) error {
            power, err := e.session.ReadPower(ctx)
            if err != nil {
                return err
            }
            e.last = power
            return nil
        }
        """,
        15,
    ),
    good(
        "lock-held-over-io",
        "go",
        """
        package registry
        import ("context"; "sync")
        type Session interface { ReadPower(ctx context.Context) (float64, error) }
        type entry struct { session Session; last float64 }
        type Registry struct { mu sync.RWMutex; entries map[string]*entry }
        func (r *Registry) Add(id string, s Session) {
            r.mu.Lock()
            defer r.mu.Unlock()
            r.entries[id] = &entry{session: s}
        }
        func (r *Registry) PollAll(ctx context.Context) {
            r.mu.RLock()
            entries := make([]*entry, 0, len(r.entries))
            for _, e := range r.entries {
                entries = append(entries, e)
            }
            r.mu.RUnlock()
            for _, e := range entries {
                if err := e.poll(ctx); err != nil {
                    continue
                }
            }
        }
        func (e *entry) poll(ctx context.Context) error {
            power, err := e.session.ReadPower(ctx)
            if err != nil {
                return err
            }
            e.last = power
            return nil
        }
        """,
    ),
    bad(
        "lock-not-released",
        "csharp",
        """
        class Runner {
            private readonly SemaphoreSlim _slots = new(8, 8);
            public async Task<Result> RunAsync(string code, CancellationToken ct) {
                await _slots.WaitAsync(ct);
                await using var sandbox = await pool.CreateAsync(ct);
                try {
                    var n = 1;
                    return await sandbox.ExecuteAsync(code, ct);
                } finally {
                    _slots.Release();
                }
            }
        }
        """,
        4,
    ),
    good(
        "lock-not-released",
        "csharp",
        """
        class Runner {
            private readonly SemaphoreSlim _slots = new(8, 8);
            public async Task<Result> RunAsync(string code, CancellationToken ct) {
                await _slots.WaitAsync(ct);
                var n = 1;
                try {
                    await using var sandbox = await pool.CreateAsync(ct);
                    return await sandbox.ExecuteAsync(code, ct);
                } finally {
                    _slots.Release();
                }
            }
        }
        """,
    ),
    bad(
        "lock-not-released",
        "python",
        """
        import asyncio
        class Runner:
            def __init__(self):
                self._lock = asyncio.Lock()
            async def run(self, code):
                await self._lock.acquire()
                sandbox = await self.pool.create()
                try:
                    return await sandbox.run(code)
                finally:
                    self._lock.release()
        """,
        6,
    ),
    bad(
        "released-on-success-only",
        "python",
        """
        import psycopg2
        class Offers:
            def accept(self, offer_id):
                conn = self._checkout()
                try:
                    with conn, conn.cursor() as cur:
                        cur.execute("UPDATE offers SET taken = true WHERE id = %s RETURNING id", (offer_id,))
                        if cur.fetchone() is None:
                            raise OfferGone(offer_id)
                except psycopg2.Error as exc:
                    self._pool.putconn(conn, close=True)
                    raise StoreUnavailable() from exc
                if True:
                    self._pool.putconn(conn)
                return offer_id
            def _checkout(self):
                return self._pool.getconn()
        """,
        4,
    ),
    good(
        "released-on-success-only",
        "python",
        """
        import psycopg2
        class Offers:
            def accept(self, offer_id):
                conn = self._checkout()
                try:
                    with conn, conn.cursor() as cur:
                        cur.execute("UPDATE offers SET taken = true WHERE id = %s RETURNING id", (offer_id,))
                        if cur.fetchone() is None:
                            raise OfferGone(offer_id)
                except psycopg2.Error as exc:
                    log.exception("failed")
                    raise StoreUnavailable() from exc
                finally:
                    self._pool.putconn(conn)
                return offer_id
            def _checkout(self):
                return self._pool.getconn()
        """,
    ),
    bad(
        "released-on-success-only",
        "typescript",
        """
        export async function accept(pool: Pool, id: string, who: string) {
          const client = await pool.connect();
          try {
            await client.query('BEGIN');
            const offer = await lockOffer(client, id);
            if (!offer) {
              log.info('gone');
              return false;
            }
            await client.query('UPDATE offers SET taken_by = $2 WHERE id = $1', [id, who]);
            await client.query('COMMIT');
            return true;
          } catch (err) {
            await client.query('ROLLBACK');
            throw err;
          } finally {
            client.release();
          }
        }
        """,
        4,
    ),
    good(
        "released-on-success-only",
        "typescript",
        """
        export async function accept(pool: Pool, id: string, who: string) {
          const client = await pool.connect();
          try {
            await client.query('BEGIN');
            const offer = await lockOffer(client, id);
            if (!offer) {
              await client.query('ROLLBACK');
              return false;
            }
            await client.query('UPDATE offers SET taken_by = $2 WHERE id = $1', [id, who]);
            await client.query('COMMIT');
            return true;
          } catch (err) {
            await client.query('ROLLBACK');
            throw err;
          } finally {
            client.release();
          }
        }
        """,
    ),
    bad(
        "released-on-success-only",
        "javascript",
        """
        async function transfer(dataSource, id) {
          const runner = dataSource.createQueryRunner();
          await runner.connect();
          try {
            await runner.startTransaction();
            const row = await runner.manager.findOne(Account, { where: { id } });
            if (!row) {
              return null;
            }
            await runner.manager.save(row);
            await runner.commitTransaction();
            return row;
          } catch (err) {
            await runner.rollbackTransaction();
            throw err;
          } finally {
            await runner.release();
          }
        }
        """,
        5,
    ),
]
