"""Requests that are answered with an empty list because what they asked for has failed."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_EMPTY = "failure-looks-empty"

CASES = [
    bad(
        _EMPTY,
        "rust",
        """
        use {axum::{extract::{Path, State}, Json}, tracing::error};
        async fn alerts(State(pool): State<PgPool>, Path(team): Path<i64>) -> Result<Json<Alerts>, Error> {
            let alerts = load_active(&pool, team).await.unwrap_or_else(|err| {
                error!(team, error = %err, "cannot load");
                Vec::new()
            });
            Ok(Json(alerts))
        }
        """,
        3,
    ),
    good(
        _EMPTY,
        "rust",
        """
        use axum::{extract::{Path, State}, http::StatusCode, Json};
        async fn board(State(pool): State<PgPool>, Path(team): Path<i64>) -> Result<Json<Board>, StatusCode> {
            let members = members(&pool, team).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
            let tips = tips(&pool, team).await.unwrap_or_else(|err| {
                warn!(team, error = %err, "cannot load tips");
                Vec::new()
            });
            Ok(Json(Board { members, tips }))
        }
        """,
    ),
    bad(
        _EMPTY,
        "python",
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.get("/teams/{team}/alerts")
        async def alerts(team: int):
            try:
                rows = await repository.active(team)
            except Exception:
                logger.exception("cannot load")
                rows = []
            return rows
        """,
        7,
    ),
    good(
        _EMPTY,
        "python",
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.get("/teams/{team}/alerts")
        async def alerts(team: int):
            try:
                rows = await repository.active(team)
            except TeamNotFound:
                rows = []
            return rows
        """,
    ),
    bad(
        _EMPTY,
        "csharp",
        """
        [ApiController]
        public class AlertsController : ControllerBase {
            [HttpGet("alerts")]
            public async Task<IActionResult> List(int team) {
                try {
                    return Ok(await _alerts.ActiveAsync(team));
                } catch (Exception ex) {
                    _logger.LogError(ex, "cannot load");
                    return Ok(Array.Empty<Alert>());
                }
            }
        }
        """,
        7,
    ),
    bad(
        _EMPTY,
        "javascript",
        """
        const router = require('express').Router();
        router.get('/alerts', async (req, res) => {
          try {
            res.json(await alerts.active(req.query.team));
          } catch (err) {
            logger.error({ err }, 'cannot load');
            res.json([]);
          }
        });
        """,
        5,
    ),
    good(
        _EMPTY,
        "javascript",
        """
        const router = require('express').Router();
        router.get('/alerts', async (req, res) => {
          try {
            res.json(await alerts.active(req.query.team));
          } catch (err) {
            logger.error({ err }, 'cannot load');
            res.status(503).json([]);
          }
        });
        """,
    ),
    bad(
        _EMPTY,
        "java",
        """
        @RestController
        class Alerts {
            @GetMapping("/alerts")
            List<Alert> alerts(@RequestParam long team) {
                try {
                    return alerts.active(team);
                } catch (DataAccessException e) {
                    log.error("cannot load", e);
                    return List.of();
                }
            }
        }
        """,
        7,
    ),
    bad(
        _EMPTY,
        "go",
        """
        package api
        import "github.com/gin-gonic/gin"
        func (a *API) Alerts(c *gin.Context) {
        	alerts, err := a.store.Active(c.Request.Context(), c.Param("team"))
        	if err != nil {
        		a.log.Errorf("cannot load: %v", err)
        		c.JSON(http.StatusOK, []Alert{})
        		return
        	}
        	c.JSON(http.StatusOK, alerts)
        }
        """,
        5,
    ),
    bad(
        _EMPTY,
        "kotlin",
        """
        import io.ktor.server.routing.get
        fun Route.alerts(store: Store) {
            get("/alerts") {
                val alerts = runCatching { store.active() }.getOrElse { e ->
                    log.error("cannot load", e)
                    emptyList()
                }
                call.respond(alerts)
            }
        }
        """,
        4,
    ),
    # The list is empty before the try that fills it, or the answer of the try with an empty list in it.
    bad(
        _EMPTY,
        "javascript",
        """
        app.get('/rooms', async (request, reply) => {
          let rooms = [];
          try {
            rooms = await supplier.search(request.query);
          } catch (err) {
            request.log.warn({ err }, 'search failed');
          }
          return { rooms };
        });
        """,
        5,
    ),
    bad(
        _EMPTY,
        "python",
        """
        @app.get("/rooms")
        async def rooms(city: str):
            found = []
            try:
                found = await supplier.search(city)
            except SupplierError:
                log.exception("search failed")
            return found
        """,
        6,
    ),
    good(
        _EMPTY,
        "javascript",
        """
        app.get('/rooms', async (request, reply) => {
          const hotel = await hotels.find(request.query.id);
          let tips = [];
          try {
            tips = await supplier.tips(request.query);
          } catch (err) {
            request.log.warn({ err }, 'no tips');
          }
          return { hotel, tips };
        });
        """,
    ),
    bad(
        _EMPTY,
        "javascript",
        """
        app.get('/rights', async (req, reply) => {
          const { accountId } = req.user;
          try {
            const rights = await billing.rights(accountId);
            return { accountId, rights };
          } catch (err) {
            req.log.error({ err }, 'lookup failed');
            return { accountId, rights: [] };
          }
        });
        """,
        6,
    ),
    good(
        _EMPTY,
        "javascript",
        """
        app.get('/rights', async (req, reply) => {
          const account = await accounts.find(req.user.id);
          try {
            const tips = await billing.tips(account);
            return { account, tips };
          } catch (err) {
            req.log.error({ err }, 'lookup failed');
            return { account, tips: [] };
          }
        });
        """,
    ),
]
