"""Request handlers that go on after a failure."""

# ruff: noqa: E101, E501  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_AGAIN, _LOGGED = "goes-on-after-answer", "failure-only-logged"
_PY, _JS, _GO, _JAVA, _RUST, _CS = "python", "javascript", "go", "java", "rust", "csharp"

CASES = [
    bad(
        _AGAIN,
        _JS,
        """
        app.post('/orders', async (req, res) => {
          if (!req.body.sku) {
            res.status(400).json({ error: 'sku' });
          }
          res.json(await orders.create(req.body));
        });
        function one(req, res, next) {
          load(req.params.id, (err, found) => {
            if (err) next(err);
            res.json(found);
          });
        }
        async function two(req, res, next) {
          const found = await load(req.params.id);
          if (!found) {
            next(new NotFound());
          }
          res.json(found);
        }
        """,
        3,
        16,
    ),
    good(
        _AGAIN,
        _JS,
        """
        app.post('/orders', async (req, res) => {
          if (!req.body.sku) {
            return res.status(400).json({ error: 'sku' });
          }
          if (!req.body.count) {
            res.status(400).json({ error: 'count' });
            return;
          }
          try {
            res.json(await orders.create(req.body));
          } catch (err) {
            res.status(500).json({ error: 'no order' });
          }
        });
        function other(req, res) {
          if (req.ok) {
            res.json({});
          } else {
            res.status(404).end();
          }
        }
        """,
    ),
    bad(
        _AGAIN,
        _GO,
        """
        package a

        import (
        	"net/http"

        	"github.com/gin-gonic/gin"
        )

        func (h *Handler) Get(w http.ResponseWriter, r *http.Request) {
        	item, err := h.store.Load(r.Context(), r.PathValue("id"))
        	if err != nil {
        		http.Error(w, "not found", http.StatusNotFound)
        	}
        	w.Write(item)
        }

        func (h *Handler) Put(c *gin.Context) {
        	if err := c.ShouldBindJSON(&in); err != nil {
        		c.AbortWithStatusJSON(http.StatusBadRequest, gin.H{"error": err.Error()})
        	}
        	c.JSON(http.StatusOK, in)
        }
        """,
        12,
        19,
    ),
    good(
        _AGAIN,
        _GO,
        """
        package a

        import "net/http"

        func (h *Handler) Get(w http.ResponseWriter, r *http.Request) {
        	item, err := h.store.Load(r.Context(), r.PathValue("id"))
        	if err != nil {
        		http.Error(w, "not found", http.StatusNotFound)
        		return
        	}
        	w.Write(item)
        }

        func (h *Handler) Status(w http.ResponseWriter, r *http.Request) {
        	if !h.ready {
        		w.WriteHeader(http.StatusServiceUnavailable)
        	}
        	h.log.Info("asked")
        }
        """,
    ),
    bad(
        _AGAIN,
        _CS,
        """
        public class Quota {
          public async Task InvokeAsync(HttpContext context) {
            if (!Allowed(context)) {
              context.Response.StatusCode = 429;
            }
            await _next(context);
          }
        }
        """,
        4,
    ),
    good(
        _AGAIN,
        _CS,
        """
        public class Quota {
          public async Task InvokeAsync(HttpContext context) {
            if (!Allowed(context)) {
              context.Response.StatusCode = 429;
              return;
            }
            await _next(context);
          }
        }
        """,
    ),
    bad(
        _LOGGED,
        _GO,
        """
        package a

        import (
        	"net/http"

        	"github.com/gin-gonic/gin"
        )

        func (h *Handler) Update(c *gin.Context) {
        	if err := h.store.Save(c.Request.Context(), in); err != nil {
        		h.log.Error("not saved", "err", err)
        	}
        	c.JSON(http.StatusOK, in)
        }
        """,
        10,
    ),
    good(
        _LOGGED,
        _GO,
        """
        package a

        import (
        	"net/http"

        	"github.com/gin-gonic/gin"
        )

        func (h *Handler) Update(c *gin.Context) {
        	if err := h.store.Save(c.Request.Context(), in); err != nil {
        		h.log.Error("not saved", "err", err)
        		c.Status(http.StatusInternalServerError)
        		return
        	}
        	if err := h.audit.Record(c.Request.Context(), in); err != nil {
        		h.log.Error("not audited", "err", err)
        	}
        	c.JSON(http.StatusOK, in)
        }
        """,
    ),
    bad(
        _LOGGED,
        _JS,
        """
        app.post('/orders', async (req, res) => {
          try {
            await orders.save(req.body);
          } catch (err) {
            console.error(err);
          }
          res.json({ ok: true });
        });
        """,
        4,
    ),
    good(
        _LOGGED,
        _JS,
        """
        app.post('/orders', async (req, res) => {
          try {
            await orders.save(req.body);
          } catch (err) {
            console.error(err);
            return res.status(500).end();
          }
          try {
            await metrics.record('order');
          } catch (err) {
            console.error(err);
          }
          res.json({ ok: true });
        });
        """,
    ),
    bad(
        _LOGGED,
        _RUST,
        """
        async fn mark_paid(pool: &PgPool, id: i64) -> Result<u64, sqlx::Error> {
            let done = sqlx::query("UPDATE orders SET status = 'paid' WHERE id = $1").bind(id).execute(pool).await?;
            Ok(done.rows_affected())
        }
        pub async fn webhook(State(pool): State<PgPool>, Json(notice): Json<Notice>) -> StatusCode {
            let _ = mark_paid(&pool, notice.id).await;
            store.save(&notice).await.ok();
            StatusCode::OK
        }
        """,
        6,
        7,
    ),
    good(
        _LOGGED,
        _RUST,
        """
        pub async fn webhook(State(pool): State<PgPool>, Json(notice): Json<Notice>) -> StatusCode {
            let _ = tx.send(notice.id).await;
            let _ = metrics.record("webhook").await;
            if let Err(error) = mark_paid(&pool, notice.id).await {
                let _ = store.delete(&notice).await;
                return StatusCode::INTERNAL_SERVER_ERROR;
            }
            StatusCode::OK
        }
        """,
    ),
    bad(
        "failure-only-logged",
        "python",
        """
        @app.post("/hooks")
        def hook():
            event = request.get_json()
            try:
                apply_event(event)
            except SQLAlchemyError:
                logger.exception("not stored")
                return jsonify(status="received"), 200
            return jsonify(status="received"), 200
        """,
        6,
    ),
    good(
        "failure-only-logged",
        "python",
        """
        @app.post("/hooks")
        def hook():
            event = request.get_json()
            try:
                apply_event(event)
            except SQLAlchemyError:
                logger.exception("not stored")
                return jsonify(status="failed"), 503
            try:
                notify_owner(event)
            except MailError:
                logger.exception("not sent")
            return jsonify(status="received"), 200
        """,
    ),
    bad(
        "failure-only-logged",
        "java",
        """
        @RestController
        class Hooks {
            private final EventStore store;
            @PostMapping("/hooks")
            ResponseEntity<String> receive(@RequestBody Event event) {
                try {
                    store.insertIfAbsent(event);
                } catch (DataAccessException e) {
                    log.error("not stored", e);
                }
                return ResponseEntity.ok("received");
            }
        }
        """,
        8,
    ),
]
