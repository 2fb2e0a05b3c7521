"""Receivers that stop others, connections taken twice, and objects that live too long."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "slow-receiver-stops-all",
        "go",
        """
        package ws

        type Hub struct {
        	clients    map[*Client]bool
        	broadcast  chan []byte
        	register   chan *Client
        	unregister chan *Client
        }

        type Client struct {
        	send chan []byte
        }

        func (h *Hub) Run() {
        	for {
        		select {
        		case c := <-h.register:
        			h.clients[c] = true
        		case c := <-h.unregister:
        			delete(h.clients, c)
        			close(c.send)
        		case message := <-h.broadcast:
        			for client := range h.clients {
        				client.send <- message
        			}
        		}
        	}
        }
        """,
        24,
    ),
    good(
        "slow-receiver-stops-all",
        "go",
        """
        package ws

        type Hub struct {
        	clients    map[*Client]bool
        	broadcast  chan []byte
        	register   chan *Client
        	unregister chan *Client
        }

        type Client struct {
        	send chan []byte
        }

        func (h *Hub) Run() {
        	for {
        		select {
        		case c := <-h.register:
        			h.clients[c] = true
        		case c := <-h.unregister:
        			delete(h.clients, c)
        			close(c.send)
        		case message := <-h.broadcast:
        			for client := range h.clients {
        				select {
        				case client.send <- message:
        				default:
        					delete(h.clients, client)
        					close(client.send)
        				}
        			}
        		}
        	}
        }
        """,
    ),
    bad(
        "query-outside-transaction",
        "typescript",
        """
        import { Pool } from 'pg';

        export class Ledger {
          constructor(private readonly pool: Pool) {}

          async transfer(from: string, to: string, cents: number): Promise<void> {
            const client = await this.pool.connect();
            try {
              await client.query('BEGIN');
              await this.assertOpen(from);
              await client.query('UPDATE accounts SET balance = balance - $1 WHERE id = $2', [cents, from]);
              await client.query('UPDATE accounts SET balance = balance + $1 WHERE id = $2', [cents, to]);
              await client.query('COMMIT');
            } catch (err) {
              await client.query('ROLLBACK');
              throw err;
            } finally {
              client.release();
            }
          }

          private async assertOpen(id: string): Promise<void> {
            const { rows } = await this.pool.query('SELECT closed FROM accounts WHERE id = $1', [id]);
            if (rows[0]?.closed) throw new Error('closed');
          }
        }
        """,
        10,
    ),
    good(
        "query-outside-transaction",
        "typescript",
        """
        import { Pool, PoolClient } from 'pg';

        export class Ledger {
          constructor(private readonly pool: Pool) {}

          async transfer(from: string, to: string, cents: number): Promise<void> {
            const client = await this.pool.connect();
            try {
              await client.query('BEGIN');
              await this.assertOpen(client, from);
              await client.query('UPDATE accounts SET balance = balance - $1 WHERE id = $2', [cents, from]);
              await client.query('UPDATE accounts SET balance = balance + $1 WHERE id = $2', [cents, to]);
              await client.query('COMMIT');
            } catch (err) {
              await client.query('ROLLBACK');
              throw err;
            } finally {
              client.release();
            }
          }

          private async assertOpen(client: PoolClient, id: string): Promise<void> {
            const { rows } = await client.query('SELECT closed FROM accounts WHERE id = $1', [id]);
            if (rows[0]?.closed) throw new Error('closed');
          }
        }
        """,
    ),
    bad(
        "context-kept-for-ever",
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;
        using Microsoft.Extensions.Hosting;

        public class IngestWorker : BackgroundService
        {
            private readonly ReadingsContext _db;
            private readonly IQueue _queue;

            public IngestWorker(IDbContextFactory<ReadingsContext> factory, IQueue queue)
            {
                _db = factory.CreateDbContext();
                _queue = queue;
            }

            protected override async Task ExecuteAsync(CancellationToken stop)
            {
                await foreach (var reading in _queue.ReadAllAsync(stop))
                {
                    _db.Readings.Add(reading);
                    await _db.SaveChangesAsync(stop);
                }
            }
        }
        """,
        11,
    ),
    good(
        "context-kept-for-ever",
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;
        using Microsoft.Extensions.Hosting;

        public class IngestWorker : BackgroundService
        {
            private readonly IDbContextFactory<ReadingsContext> _factory;
            private readonly IQueue _queue;

            public IngestWorker(IDbContextFactory<ReadingsContext> factory, IQueue queue)
            {
                _factory = factory;
                _queue = queue;
            }

            protected override async Task ExecuteAsync(CancellationToken stop)
            {
                await foreach (var batch in _queue.ReadBatchesAsync(500, stop))
                {
                    await using var db = await _factory.CreateDbContextAsync(stop);
                    db.Readings.AddRange(batch);
                    await db.SaveChangesAsync(stop);
                }
            }
        }
        """,
    ),
    bad(
        "interval-leak",
        "csharp",
        """
        using System.Threading;

        public sealed class DashboardSession
        {
            private readonly WebSocket _socket;
            private readonly Timer _timer;

            public DashboardSession(WebSocket socket)
            {
                _socket = socket;
                _timer = new Timer(_ => Push(), null, TimeSpan.Zero, TimeSpan.FromSeconds(5));
            }

            private void Push() { _socket.Send(Snapshot()); }

            public void Close()
            {
                _socket.Dispose();
            }
        }
        """,
        11,
    ),
    good(
        "interval-leak",
        "csharp",
        """
        using System.Threading;

        public sealed class DashboardSession : IDisposable
        {
            private readonly WebSocket _socket;
            private readonly Timer _timer;

            public DashboardSession(WebSocket socket)
            {
                _socket = socket;
                _timer = new Timer(_ => Push(), null, TimeSpan.Zero, TimeSpan.FromSeconds(5));
            }

            private void Push() { _socket.Send(Snapshot()); }

            public void Dispose()
            {
                _timer.Dispose();
                _socket.Dispose();
            }
        }
        """,
    ),
    bad(
        "no-graceful-shutdown",
        "kotlin",
        """
        package shop.worker

        import kotlinx.coroutines.*
        import com.zaxxer.hikari.HikariDataSource

        fun main() = runBlocking {
            val dataSource = HikariDataSource(config())
            val worker = ExportWorker(dataSource)
            while (true) {
                val job = worker.next()
                if (job == null) {
                    delay(1000)
                    continue
                }
                worker.run(job)
            }
        }
        """,
        9,
    ),
    good(
        "no-graceful-shutdown",
        "kotlin",
        """
        package shop.worker

        import kotlinx.coroutines.*
        import com.zaxxer.hikari.HikariDataSource

        fun main() = runBlocking {
            val dataSource = HikariDataSource(config())
            val worker = ExportWorker(dataSource)
            val running = launch(Dispatchers.IO) {
                while (isActive) {
                    val job = worker.next()
                    if (job == null) {
                        delay(1000)
                        continue
                    }
                    worker.run(job)
                }
            }
            Runtime.getRuntime().addShutdownHook(Thread {
                runBlocking { running.cancelAndJoin() }
                dataSource.close()
            })
            running.join()
        }
        """,
    ),
    bad(
        "unbounded-cache",
        "rust",
        """
        use std::collections::HashMap;
        use std::net::IpAddr;
        use std::sync::Mutex;
        use std::time::Instant;

        pub struct Limiter {
            windows: Mutex<HashMap<IpAddr, Window>>,
        }

        struct Window { started: Instant, count: u32 }

        impl Limiter {
            pub fn allow(&self, ip: IpAddr) -> bool {
                let mut windows = self.windows.lock().unwrap();
                let window = windows.entry(ip).or_insert_with(|| Window { started: Instant::now(), count: 0 });
                if window.started.elapsed().as_secs() >= 60 {
                    window.started = Instant::now();
                    window.count = 0;
                }
                window.count += 1;
                window.count <= 100
            }
        }
        """,
        7,
    ),
    good(
        "unbounded-cache",
        "rust",
        """
        use std::collections::HashMap;
        use std::net::IpAddr;
        use std::sync::Mutex;
        use std::time::{Duration, Instant};

        pub struct Limiter {
            windows: Mutex<HashMap<IpAddr, Window>>,
        }

        struct Window { started: Instant, count: u32 }

        impl Limiter {
            pub fn allow(&self, ip: IpAddr) -> bool {
                let mut windows = self.windows.lock().unwrap();
                if windows.len() > 10_000 {
                    windows.retain(|_, w| w.started.elapsed() < Duration::from_secs(60));
                }
                let window = windows.entry(ip).or_insert_with(|| Window { started: Instant::now(), count: 0 });
                window.count += 1;
                window.count <= 100
            }
        }
        """,
    ),
    bad(
        "unbounded-cache",
        "go",
        """
        package auth

        import "sync"

        type Permissions struct {
        	mu    sync.RWMutex
        	cache map[string][]string
        	repo  Repo
        }

        func (p *Permissions) For(token string) ([]string, error) {
        	p.mu.RLock()
        	found, ok := p.cache[token]
        	p.mu.RUnlock()
        	if ok {
        		return found, nil
        	}
        	found, err := p.repo.Load(token)
        	if err != nil {
        		return nil, err
        	}
        	p.mu.Lock()
        	p.cache[token] = found
        	p.mu.Unlock()
        	return found, nil
        }
        """,
        7,
    ),
    bad(
        "unbounded-cache",
        "typescript",
        """
        export class PresenceService {
          private readonly lastSeen = new Map<string, number>();

          touch(userId: string): void {
            this.lastSeen.set(userId, Date.now());
          }

          isOnline(userId: string): boolean {
            return Date.now() - (this.lastSeen.get(userId) ?? 0) < 30_000;
          }
        }
        """,
        2,
    ),
    good(
        "unbounded-cache",
        "typescript",
        """
        export class PresenceService {
          private readonly lastSeen = new Map<string, number>();

          touch(userId: string): void {
            this.lastSeen.set(userId, Date.now());
          }

          sweep(): void {
            const limit = Date.now() - 30_000;
            for (const [id, at] of this.lastSeen) {
              if (at < limit) this.lastSeen.delete(id);
            }
          }
        }
        """,
    ),
]
