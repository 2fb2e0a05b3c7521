"""Code that is close to lost messages, tasks and errors, and is right."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import good

_ERROR_ANSWERED_AS_SUCCESS = "error-answered-as-success"
_FAILED_MESSAGE_DROPPED = "failed-message-dropped"
_FIRE_AND_FORGET = "fire-and-forget"
_IGNORED_ERROR = "ignored-error"
_MESSAGE_HANDED_OFF = "message-handed-off"
_UNGUARDED_PARSE = "unguarded-parse"

CASES = [
    good(
        _FIRE_AND_FORGET,
        "typescript",
        """
        export class Pool {
          private running: Promise<void>[] = [];
          async run(rows: string[], api: { create(row: string): Promise<void> }): Promise<void> {
            const jobs = rows.slice(0, 4).map(async (row) => {
              await api.create(row);
            });
            this.running.push(...jobs);
            await Promise.all(this.running);
          }
        }
        """,
    ),
    good(
        _FIRE_AND_FORGET,
        "typescript",
        """
        export function start(rows: string[], api: { create(row: string): Promise<void> }): Promise<void>[] {
          const jobs = rows.slice(0, 4).map(async (row) => {
            await api.create(row);
          });
          return jobs;
        }
        """,
    ),
    good(
        _FIRE_AND_FORGET,
        "java",
        """
        package x;
        import java.util.*;
        import java.util.concurrent.*;

        public class Importer {
            public int importAll(List<Row> rows, Api api) throws Exception {
                ExecutorService pool = Executors.newFixedThreadPool(4);
                List<Future<Void>> jobs = new ArrayList<>();
                try {
                    for (Row row : rows) {
                        jobs.add(pool.submit(() -> { api.create(row); return null; }));
                    }
                    for (Future<Void> job : jobs) {
                        job.get(30, TimeUnit.SECONDS);
                    }
                } finally {
                    pool.shutdownNow();
                }
                return jobs.size();
            }
        }
        """,
    ),
    good(
        _FIRE_AND_FORGET,
        "csharp",
        """
        using System.Collections.Generic;
        using System.Threading.Tasks;

        public class Reader
        {
            public async Task<int> CountAsync(IApi api)
            {
                var names = new List<string>();
                for (var page = 0; page < 4; page++)
                {
                    names.Add(await api.NameAsync(page));
                }
                return names.Count;
            }
        }
        """,
    ),
    good(
        _IGNORED_ERROR,
        "go",
        """
        package x

        import (
        	"context"
        	"errors"
        )

        func (s *Service) Close(ctx context.Context) error {
        	err := s.a.Close()
        	err = errors.Join(err, s.b.Close())
        	return err
        }

        func (s *Service) Place(ctx context.Context, o Order) error {
        	var err error
        	switch o.Kind {
        	case "a":
        		err = s.a.Insert(ctx, o)
        	case "b":
        		err = s.b.Insert(ctx, o)
        	}
        	return err
        }
        """,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "kotlin",
        """
        package x
        import kotlinx.coroutines.*
        import org.springframework.kafka.annotation.KafkaListener

        class SeatListener(private val seats: SeatService) {
            @KafkaListener(topics = ["seats"])
            fun onSeat(event: SeatReleased) = runBlocking {
                withTimeout(10_000) {
                    launch { seats.release(event.seatId) }
                    launch { seats.log(event.seatId) }
                }
            }
        }
        """,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "python",
        """
        from celery import shared_task
        from .tasks import render

        @shared_task(acks_late=True)
        def plan(report_id):
            render.apply_async((report_id,), countdown=5)
        """,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "typescript",
        """
        import { Kafka } from "kafkajs";
        import { applyPrice } from "./prices";
        import { metrics } from "./metrics";

        const consumer = new Kafka({ clientId: "p", brokers: ["b:9092"] }).consumer({ groupId: "p" });
        export async function start() {
          await consumer.connect();
          await consumer.subscribe({ topic: "prices" });
          await consumer.run({
            eachMessage: async ({ message }) => {
              await applyPrice(message.value);
              void metrics.push(message.offset).catch(() => undefined);
            },
          });
        }
        """,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "typescript",
        """
        import express from "express";
        import { inbox } from "./inbox";
        import { drain } from "./drain";
        import { log } from "./log";

        export const hooks = express.Router();
        hooks.post("/webhooks/bank", express.json({ limit: "64kb" }), (req, res, next) => {
          inbox
            .store(req.body)
            .then(() => {
              res.sendStatus(204);
              drain().catch((err) => log.error({ err }, "drain"));
            })
            .catch(next);
        });
        """,
    ),
    good(
        _FAILED_MESSAGE_DROPPED,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using MassTransit;
        using Microsoft.Extensions.Logging;

        public class InvoiceConsumer : IConsumer<InvoiceIssued>
        {
            private readonly IInvoiceStore _store;
            private readonly ILogger<InvoiceConsumer> _log;
            public InvoiceConsumer(IInvoiceStore store, ILogger<InvoiceConsumer> log) { _store = store; _log = log; }

            public async Task Consume(ConsumeContext<InvoiceIssued> context)
            {
                try { await _store.SaveAsync(context.Message, context.CancellationToken); }
                catch (DuplicateInvoiceException e) { _log.LogInformation(e, "invoice known"); }
            }
        }
        """,
    ),
    good(
        _FAILED_MESSAGE_DROPPED,
        "go",
        """
        package x

        import (
        	"log/slog"

        	"github.com/nats-io/nats.go"
        )

        func Start(js nats.JetStreamContext, store Store) (*nats.Subscription, error) {
        	return js.Subscribe("readings", func(m *nats.Msg) {
        		if err := store.Append(m.Data); err != nil {
        			slog.Error("append", "err", err)
        			_ = m.Nak()
        			return
        		}
        		_ = m.Ack()
        	}, nats.Durable("readings"), nats.ManualAck())
        }
        """,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "python",
        """
        from flask import Flask, render_template

        app = Flask(__name__)

        @app.errorhandler(404)
        def missing(exc):
            return render_template("404.html"), 404

        @app.errorhandler(Exception)
        def failed(exc):
            app.logger.exception("failed")
            return {"code": "internal"}, getattr(exc, "code", 500)
        """,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "java",
        """
        package x;
        import org.slf4j.*;
        import org.springframework.web.bind.annotation.*;
        import org.springframework.web.context.request.async.AsyncRequestNotUsableException;

        @RestControllerAdvice
        public class Aborts {
            private static final Logger log = LoggerFactory.getLogger(Aborts.class);
            @ExceptionHandler(AsyncRequestNotUsableException.class)
            public void gone(AsyncRequestNotUsableException e) {
                log.debug("client gone");
            }
        }
        """,
    ),
    good(
        _UNGUARDED_PARSE,
        "python",
        """
        import asyncio, json
        import aio_pika

        class Consumer:
            def __init__(self, store, audit):
                self._store = store
                self._audit = audit
                self._tasks = set()

            async def on_message(self, message: aio_pika.abc.AbstractIncomingMessage) -> None:
                async with message.process():
                    row = json.loads(message.body)
                    await self._store.put(row)
                    task = asyncio.create_task(self._audit.note(row["id"]))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
        """,
    ),
    good(
        _FIRE_AND_FORGET,
        "typescript",
        """
        export class Refresher {
          private ticker?: NodeJS.Timeout;
          constructor(private readonly tick: () => void) {}
          async restart(): Promise<void> {
            await this.stop();
            this.ticker = setInterval(this.tick, 30_000);
            this.ticker.unref();
          }
          async stop(): Promise<void> {
            clearInterval(this.ticker);
          }
          onVisible(): void {
            this.restart();
          }
        }
        """,
    ),
    good(
        "promise-leaves-try",
        "typescript",
        """
        export class Worker {
          async perform(job: Job): Promise<void> {
            try {
              await job.run();
              return this.complete(job, true);
            } catch (error) {
              this.error = error;
              return this.complete(job, false);
            }
          }
          async complete(job: Job, ok: boolean): Promise<void> {
            await this.store.mark(job.id, ok);
          }
        }
        """,
    ),
    good(
        "promise-leaves-try",
        "javascript",
        """
        class Embeds {
          async fetch(url) {
            try {
              const page = await this.load(url);
              return this.known(page);
            } catch (err) {
              if (err instanceof errors.ValidationError) {
                throw err;
              }
              return this.fallback(url);
            }
          }
          async known(page) {
            const found = await this.extract(page).catch((err) => {
              throw new errors.ValidationError({ context: err.message });
            });
            return found;
          }
        }
        """,
    ),
    good(
        "nested-retries",
        "typescript",
        """
        export async function retry<T>(cb: () => Promise<T>, most = 3, tries = 0): Promise<T> {
          return new Promise<T>((resolve, reject) => {
            cb().then(resolve).catch((e) => {
              if (tries++ < most) {
                setTimeout(() => {
                  retry(cb, most, tries).then(resolve).catch((e2) => reject(e2));
                }, 2 ** tries * 400);
              } else {
                reject(e);
              }
            });
          });
        }
        """,
    ),
    good(
        "busy-loop",
        "go",
        """
        package server

        import "context"

        func (h *handler) idle(ctx context.Context) {
        	for {
        		select {
        		case <-ctx.Done():
        			return
        		case conn, ok := <-h.fsm.connCh:
        			if !ok {
        				break
        			}
        			conn.Close()
        		}
        	}
        }
        """,
    ),
    good(
        "pool-not-shut-down",
        "java",
        """
        class Pool {
          private volatile Executor timeouts;
          void open(Config config, String name) {
            ThreadPoolExecutor executor = (ThreadPoolExecutor) Executors.newCachedThreadPool(config.factory());
            executor.allowCoreThreadTimeOut(true);
            timeouts = executor;
          }
        }
        """,
    ),
    good(
        "lock-guards-nothing",
        "go",
        """
        package output

        import "sync"

        func run(events chan Event) {
        	var cache []Event
        	var mu sync.Mutex
        	for e := range events {
        		mu.Lock()
        		cache = append(cache, e)
        		mu.Unlock()
        	}
        	flush(cache)
        }
        """,
    ),
    good(
        "lock-not-released",
        "go",
        """
        package server

        func catchUp(next func() bool, quit chan struct{}) int {
        	wake := make(chan struct{}, 4)
        	wake <- struct{}{}
        	for {
        		select {
        		case <-quit:
        			return 0
        		case <-wake:
        			if !next() {
        				return 1
        			}
        		}
        	}
        }
        """,
    ),
    good(
        "subprocess-without-timeout",
        "go",
        """
        package edit

        import (
        	"io"
        	"os/exec"
        )

        func edit(stdin io.Reader, stdout io.Writer, args []string) error {
        	cmd := exec.Command(args[0], args[1:]...)
        	cmd.Stdin = stdin
        	cmd.Stdout = stdout
        	return cmd.Run()
        }
        """,
    ),
    good(
        "secret-in-log",
        "typescript",
        """
        import express from "express";
        import morgan from "morgan";
        export function build(app: express.Express): void {
          morgan.token("url-safe", (req: express.Request) => req.path);
          app.use(morgan(':remote-addr ":method :url-safe" :status'));
          app.get("/sync", (req, res) => res.json(check(req.query.access_token)));
        }
        """,
    ),
]
