"""Requests that are answered with success although their work has failed."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LOGGED = "failure-only-logged"

CASES = [
    bad(
        _LOGGED,
        "csharp",
        """
        public static class Hook {
            public static void Map(IEndpointRouteBuilder app) =>
                app.MapPost("/webhooks/store", (HttpContext http, Db db, ILogger log) =>
                    HandleAsync(http, db, log));
            private static async Task<IResult> HandleAsync(HttpContext http, Db db, ILogger log) {
                var purchase = await Read(http);
                try {
                    db.Purchases.Add(purchase);
                    await db.SaveChangesAsync();
                } catch (DbUpdateException ex) {
                    log.LogError(ex, "storing {Id} failed", purchase.Id);
                }
                return Results.Ok();
            }
        }
        """,
        10,
    ),
    good(
        _LOGGED,
        "csharp",
        """
        public static class Hook {
            private static async Task<IResult> HandleAsync(HttpContext http, Db db, ILogger log) {
                var purchase = await Read(http);
                try {
                    db.Purchases.Add(purchase);
                    await db.SaveChangesAsync();
                } catch (DbUpdateException ex) {
                    log.LogError(ex, "storing {Id} failed", purchase.Id);
                    return Results.StatusCode(StatusCodes.Status503ServiceUnavailable);
                }
                return Results.Ok();
            }
        }
        """,
    ),
    bad(
        _LOGGED,
        "csharp",
        """
        [ApiController]
        public class PaymentsController : ControllerBase {
            [HttpPost("webhook")]
            public async Task<IActionResult> Receive([FromBody] PaymentEvent payment) {
                try {
                    await _service.HandleAsync(payment);
                } catch (Exception ex) {
                    _logger.LogError(ex, "payment event {Id} failed", payment.Id);
                    return Ok();
                }
                return NoContent();
            }
        }
        """,
        7,
    ),
    bad(
        _LOGGED,
        "typescript",
        """
        export function routes(store: Store) {
          return async (app: FastifyInstance): Promise<void> => {
            app.post('/webhooks/changes', { schema }, async (request, reply) => {
              const change = request.body;
              try {
                await store.apply(change);
              } catch (err) {
                if (err instanceof UnknownFlight) {
                  return reply.code(200).send({ status: 'ignored' });
                }
                request.log.error({ err }, 'not applied');
                return reply.code(200).send({ status: 'received' });
              }
              return reply.code(200).send({ status: 'applied' });
            });
          };
        }
        """,
        7,
    ),
    good(
        _LOGGED,
        "typescript",
        """
        export function routes(store: Store) {
          return async (app: FastifyInstance): Promise<void> => {
            app.post('/webhooks/changes', { schema }, async (request, reply) => {
              try {
                await store.apply(request.body);
              } catch (err) {
                if (err instanceof AlreadyApplied) {
                  request.log.info('seen before');
                  return reply.code(200).send({ status: 'applied' });
                }
                throw err;
              }
              return reply.code(200).send({ status: 'applied' });
            });
          };
        }
        """,
    ),
    bad(
        _LOGGED,
        "javascript",
        """
        const router = require('express').Router();
        router.post('/stripe/webhook', async (req, res) => {
          const event = stripe.webhooks.constructEvent(req.body, req.headers['stripe-signature'], secret);
          try {
            await handleEvent(event);
          } catch (err) {
            logger.error({ err }, 'event failed');
          }
          res.json({ received: true });
        });
        """,
        6,
    ),
    bad(
        _LOGGED,
        "java",
        """
        @Path("/postbacks")
        public class Postback {
            @POST
            public Response accept(Conversion conversion) {
                publish(conversion);
                return Response.accepted().build();
            }
            private void publish(Conversion conversion) {
                try {
                    producer.send(new ProducerRecord<>(TOPIC, conversion)).get(2, TimeUnit.SECONDS);
                } catch (ExecutionException | TimeoutException e) {
                    LOG.errorf(e, "conversion %s not published", conversion.id());
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }
        """,
        5,
    ),
    good(
        _LOGGED,
        "java",
        """
        @Path("/postbacks")
        public class Postback {
            @POST
            public Response accept(Conversion conversion) {
                if (!publish(conversion)) {
                    return Response.status(503).build();
                }
                return Response.accepted().build();
            }
            private boolean publish(Conversion conversion) {
                try {
                    producer.send(new ProducerRecord<>(TOPIC, conversion)).get(2, TimeUnit.SECONDS);
                    return true;
                } catch (ExecutionException | TimeoutException e) {
                    LOG.errorf(e, "conversion %s not published", conversion.id());
                }
                return false;
            }
        }
        """,
    ),
    bad(
        _LOGGED,
        "java",
        """
        @RestController
        public class Hook {
            @PostMapping("/webhooks/carrier")
            public ResponseEntity<Void> receive(@RequestBody byte[] body) {
                Event event = parse(body);
                try {
                    tx.executeWithoutResult(status -> store(event));
                } catch (DataAccessException e) {
                    log.info("event {} already recorded", event.id());
                }
                return ResponseEntity.noContent().build();
            }
        }
        """,
        8,
    ),
    good(
        _LOGGED,
        "java",
        """
        @RestController
        public class Hook {
            @PostMapping("/webhooks/carrier")
            public ResponseEntity<Void> receive(@RequestBody byte[] body) {
                Event event = parse(body);
                try {
                    tx.executeWithoutResult(status -> store(event));
                } catch (DuplicateKeyException e) {
                    log.info("event {} already recorded", event.id());
                }
                return ResponseEntity.noContent().build();
            }
        }
        """,
    ),
    bad(
        _LOGGED,
        "python",
        """
        from fastapi import FastAPI, Response
        app = FastAPI()
        @app.post("/webhooks/payments")
        async def receive(event: PaymentEvent) -> Response:
            try:
                await ledger.post(event)
            except Exception:
                logger.exception("event %s not posted", event.id)
                return Response(status_code=200)
            return Response(status_code=204)
        """,
        7,
    ),
    good(
        _LOGGED,
        "python",
        """
        from fastapi import FastAPI, Response
        app = FastAPI()
        @app.post("/webhooks/payments")
        async def receive(event: PaymentEvent) -> Response:
            try:
                await ledger.post(event)
            except Exception:
                logger.exception("event %s not posted", event.id)
                await retries.enqueue(event)
                return Response(status_code=200)
            return Response(status_code=204)
        """,
    ),
    bad(
        _LOGGED,
        "python",
        """
        from flask import Flask
        app = Flask(__name__)
        @app.route("/hooks/shipments", methods=["POST"])
        def shipment_webhook():
            try:
                process_shipment(request.get_json())
            except Exception as exc:
                app.logger.error("shipment failed: %s", exc)
            return "", 204
        """,
        7,
    ),
    bad(
        _LOGGED,
        "go",
        """
        package hooks
        import "net/http"
        func (h *Hooks) Receive(w http.ResponseWriter, r *http.Request) {
        	event, err := decode(r)
        	if err != nil {
        		http.Error(w, "bad event", http.StatusBadRequest)
        		return
        	}
        	if err := h.store.Save(r.Context(), event); err != nil {
        		slog.ErrorContext(r.Context(), "event not stored", "err", err)
        	}
        	w.WriteHeader(http.StatusNoContent)
        }
        """,
        9,
    ),
    bad(
        _LOGGED,
        "go",
        """
        package hooks
        import "github.com/labstack/echo/v4"
        func (h *Hooks) Webhook(c echo.Context) error {
        	event := decode(c)
        	if err := h.service.Process(c.Request().Context(), event); err != nil {
        		h.log.Errorf("event %s: %v", event.ID, err)
        		return c.NoContent(http.StatusOK)
        	}
        	return c.NoContent(http.StatusOK)
        }
        """,
        5,
    ),
    good(
        _LOGGED,
        "go",
        """
        package hooks
        import "net/http"
        func (h *Hooks) Receive(w http.ResponseWriter, r *http.Request) {
        	if err := h.store.Save(r.Context(), event); err != nil {
        		slog.ErrorContext(r.Context(), "event not stored", "err", err)
        		w.WriteHeader(http.StatusServiceUnavailable)
        		return
        	}
        	w.WriteHeader(http.StatusNoContent)
        }
        """,
    ),
    bad(
        _LOGGED,
        "kotlin",
        """
        import io.ktor.server.routing.post
        fun Route.hooks(store: Store) {
            post("/webhooks/orders") {
                val order = call.receive<Order>()
                try {
                    store.save(order)
                } catch (e: SQLException) {
                    log.error("order ${order.id} not stored", e)
                }
                call.respond(HttpStatusCode.OK)
            }
        }
        """,
        7,
    ),
    good(
        _LOGGED,
        "kotlin",
        """
        import io.ktor.server.routing.post
        fun Route.hooks(store: Store) {
            post("/webhooks/orders") {
                val order = call.receive<Order>()
                try {
                    store.save(order)
                } catch (e: SQLException) {
                    log.error("order ${order.id} not stored", e)
                    call.respond(HttpStatusCode.ServiceUnavailable)
                    return@post
                }
                call.respond(HttpStatusCode.OK)
            }
        }
        """,
    ),
    bad(
        _LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};
        async fn receive(State(db): State<Db>, Json(event): Json<Event>) -> StatusCode {
            if let Err(err) = db.insert(&event).await {
                tracing::error!(%err, "event not stored");
            }
            StatusCode::NO_CONTENT
        }
        """,
        3,
    ),
    bad(
        _LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};
        async fn webhook(State(db): State<Db>, Json(event): Json<Event>) -> StatusCode {
            match db.process(&event).await {
                Ok(()) => StatusCode::OK,
                Err(err) => {
                    tracing::error!(%err, "event failed");
                    StatusCode::OK
                }
            }
        }
        """,
        5,
    ),
    good(
        _LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};
        async fn receive(State(db): State<Db>, Json(event): Json<Event>) -> StatusCode {
            if let Err(err) = db.insert(&event).await {
                tracing::error!(%err, "event not stored");
                return StatusCode::SERVICE_UNAVAILABLE;
            }
            StatusCode::NO_CONTENT
        }
        """,
    ),
    good(
        _LOGGED,
        "javascript",
        """
        async function accept(request, reply) {
          const client = await pool.connect();
          let broken;
          try {
            await client.query('BEGIN');
            await client.query('UPDATE referrals SET status = $1', ['ACCEPTED']);
            await client.query('COMMIT');
          } catch (err) {
            await client.query('ROLLBACK').catch((rollbackErr) => {
              broken = rollbackErr;
              request.log.warn({ code: rollbackErr.code }, 'rollback failed');
            });
            throw err;
          } finally {
            client.release(broken);
          }
          return reply.send({ status: 'ACCEPTED' });
        }
        """,
    ),
]
