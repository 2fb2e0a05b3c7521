"""Webhooks that answer before their work is done, and options without acknowledgements."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ACKNOWLEDGED_BEFORE_WORK = "acknowledged-before-work"
_FAILURE_ONLY_LOGGED = "failure-only-logged"
_MESSAGE_HANDED_OFF = "message-handed-off"

CASES = [
    bad(
        _MESSAGE_HANDED_OFF,
        "javascript",
        """
        const express = require("express");
        const { fulfil } = require("./fulfil");
        const log = require("./log");

        const app = express();
        app.post("/webhooks/payments", express.json(), (req, res) => {
          res.sendStatus(200);
          fulfil(req.body).catch((err) => log.error({ err }, "event not handled"));
        });
        module.exports = app;
        """,
        8,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "javascript",
        """
        const express = require("express");
        const { queue } = require("./queue");

        const app = express();
        app.post("/webhooks/payments", express.json(), async (req, res, next) => {
          try {
            await queue.add("event", req.body, { jobId: req.body.id });
            res.sendStatus(202);
          } catch (err) {
            next(err);
          }
        });
        module.exports = app;
        """,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "go",
        """
        package x

        import (
        	"context"
        	"encoding/json"
        	"log/slog"
        	"net/http"
        )

        func (h *Handler) PaymentWebhook(w http.ResponseWriter, r *http.Request) {
        	var event Event
        	if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
        		http.Error(w, "bad request", http.StatusBadRequest)
        		return
        	}
        	go func() {
        		if err := h.ledger.Apply(context.Background(), event); err != nil {
        			slog.Error("event", "id", event.ID, "err", err)
        		}
        	}()
        	w.WriteHeader(http.StatusOK)
        }
        """,
        16,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "python",
        """
        from fastapi import BackgroundTasks, FastAPI, Request
        from .billing import apply_event

        app = FastAPI()

        @app.post("/webhooks/stripe")
        async def stripe(request: Request, background: BackgroundTasks):
            event = await request.json()
            background.add_task(apply_event, event)
            return {"received": True}
        """,
        9,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "java",
        """
        package x;
        import java.util.concurrent.*;
        import org.springframework.http.ResponseEntity;
        import org.springframework.web.bind.annotation.*;

        @RestController
        public class PaymentWebhookController {
            private final ExecutorService pool;
            private final Ledger ledger;
            PaymentWebhookController(ExecutorService pool, Ledger ledger) { this.pool = pool; this.ledger = ledger; }

            @PostMapping("/webhooks/payments")
            public ResponseEntity<Void> on(@RequestBody PaymentEvent event) {
                pool.execute(() -> ledger.apply(event));
                return ResponseEntity.ok().build();
            }
        }
        """,
        14,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "kotlin",
        """
        package x
        import io.ktor.http.*
        import io.ktor.server.application.*
        import io.ktor.server.request.*
        import io.ktor.server.response.*
        import io.ktor.server.routing.*
        import kotlinx.coroutines.*

        fun Route.hooks(scope: CoroutineScope, ledger: Ledger) {
            post("/webhooks/payments") {
                val event = call.receive<PaymentEvent>()
                scope.launch { ledger.apply(event) }
                call.respond(HttpStatusCode.OK)
            }
        }
        """,
        12,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.AspNetCore.Mvc;
        using Microsoft.Extensions.Logging;

        [ApiController]
        [Route("webhooks")]
        public class WebhooksController : ControllerBase
        {
            private readonly ILedger _ledger;
            private readonly ILogger<WebhooksController> _log;
            public WebhooksController(ILedger ledger, ILogger<WebhooksController> log) { _ledger = ledger; _log = log; }

            [HttpPost("payments")]
            public IActionResult Payments(PaymentEvent e)
            {
                _ = Task.Run(async () =>
                {
                    try { await _ledger.ApplyAsync(e); }
                    catch (Exception ex) { _log.LogError(ex, "event {Id}", e.Id); }
                });
                return Ok();
            }
        }
        """,
        17,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};

        pub async fn payment_webhook(State(ledger): State<Ledger>, Json(event): Json<PaymentEvent>) -> StatusCode {
            tokio::spawn(async move {
                if let Err(e) = ledger.apply(&event).await {
                    tracing::error!(error = %e, id = %event.id, "event not applied");
                }
            });
            StatusCode::OK
        }
        """,
        4,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};

        pub async fn payment_webhook(State(app): State<App>, Json(event): Json<PaymentEvent>) -> Result<StatusCode, StatusCode> {
            app.inbox.store(&event).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
            tokio::spawn(async move {
                if let Err(e) = app.ledger.apply(&event).await {
                    tracing::error!(error = %e, id = %event.id, "event not applied; the sweeper tries again");
                }
            });
            Ok(StatusCode::OK)
        }
        """,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};

        pub async fn payment_webhook(State(app): State<App>, Json(event): Json<PaymentEvent>) -> Result<StatusCode, StatusCode> {
            app.inbox.store(&event).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
            tokio::spawn(async move {
                if let Err(e) = app.ledger.apply(&event).await {
                    tracing::error!(error = %e, id = %event.id, "event not applied; the sweeper tries again");
                }
            });
            Ok(StatusCode::OK)
        }
        """,
    ),
    bad(
        _ACKNOWLEDGED_BEFORE_WORK,
        "go",
        """
        package x

        import (
        	"context"
        	"github.com/redis/go-redis/v9"
        )

        func (w *Worker) Run(ctx context.Context) error {
        	for ctx.Err() == nil {
        		res, err := w.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
        			Group: "billing", Consumer: "w1", Streams: []string{"events", ">"}, Count: 10, Block: 5e9, NoAck: true,
        		}).Result()
        		if err != nil {
        			return err
        		}
        		for _, stream := range res {
        			for _, m := range stream.Messages {
        				if err := w.handle(ctx, m); err != nil {
        					return err
        				}
        			}
        		}
        	}
        	return nil
        }
        """,
        11,
    ),
    bad(
        _ACKNOWLEDGED_BEFORE_WORK,
        "python",
        """
        import json
        import redis

        r = redis.Redis(host="localhost", socket_timeout=10)

        def run(handle):
            while True:
                batches = r.xreadgroup("billing", "worker-1", {"events": ">"}, count=10, block=5000, noack=True)
                for _stream, entries in batches:
                    for entry_id, fields in entries:
                        handle(json.loads(fields[b"data"]))
        """,
        8,
    ),
    bad(
        _ACKNOWLEDGED_BEFORE_WORK,
        "rust",
        """
        use futures_util::StreamExt;
        use lapin::{options::BasicConsumeOptions, types::FieldTable, Channel};

        pub async fn run(channel: Channel, store: Store) -> anyhow::Result<()> {
            let mut deliveries = channel
                .basic_consume("readings", "w1", BasicConsumeOptions { no_ack: true, ..Default::default() }, FieldTable::default())
                .await?;
            while let Some(delivery) = deliveries.next().await {
                let delivery = delivery?;
                store.insert(&delivery.data).await?;
            }
            Ok(())
        }
        """,
        6,
    ),
    bad(
        _ACKNOWLEDGED_BEFORE_WORK,
        "java",
        """
        package x;
        import org.springframework.amqp.rabbit.annotation.RabbitListener;

        public class TicketListener {
            private final TicketStore store;
            TicketListener(TicketStore store) { this.store = store; }

            @RabbitListener(queues = "tickets", ackMode = "NONE")
            public void onTicket(Ticket ticket) {
                store.save(ticket);
            }
        }
        """,
        8,
    ),
    bad(
        _ACKNOWLEDGED_BEFORE_WORK,
        "kotlin",
        """
        package x
        import io.nats.client.*
        import io.nats.client.api.*

        class Meters(private val js: JetStream, private val store: Store) {
            fun start(dispatcher: Dispatcher) {
                val config = ConsumerConfiguration.builder().durable("meters").ackPolicy(AckPolicy.None).build()
                js.subscribe("meters", dispatcher, { msg -> store.insert(msg.data) }, false, PushSubscribeOptions.builder().configuration(config).build())
            }
        }
        """,
        7,
    ),
    good(
        _ACKNOWLEDGED_BEFORE_WORK,
        "javascript",
        """
        const amqp = require("amqplib");

        async function start(channel, pending) {
          const { queue } = await channel.assertQueue("", { exclusive: true });
          await channel.consume("amq.rabbitmq.reply-to", (msg) => {
            const waiter = pending.get(msg.properties.correlationId);
            if (waiter) waiter.resolve(msg.content);
          }, { noAck: true });
          return queue;
        }
        module.exports = { start };
        """,
    ),
    bad(
        _ACKNOWLEDGED_BEFORE_WORK,
        "rust",
        """
        pub async fn poll(client: &aws_sdk_sqs::Client, url: &str, store: &Store) -> anyhow::Result<()> {
            let out = client.receive_message().queue_url(url).wait_time_seconds(20).send().await?;
            for message in out.messages() {
                let handle = message.receipt_handle().unwrap_or_default();
                client.delete_message().queue_url(url).receipt_handle(handle).send().await?;
                store.apply(message.body().unwrap_or_default()).await?;
            }
            Ok(())
        }
        """,
        5,
    ),
]
