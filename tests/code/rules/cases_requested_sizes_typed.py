"""Sizes of pages in languages whose requests have declared types."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "unbounded-page-size",
        "go",
        """
        package api

        import (
        	"net/http"

        	"github.com/gin-gonic/gin"
        	"gorm.io/gorm"
        )

        type listQuery struct {
        	Status string `form:"status"`
        	Page   int    `form:"page,default=1" binding:"min=1"`
        	Limit  int    `form:"limit,default=50" binding:"min=1"`
        }

        type Handler struct{ db *gorm.DB }

        func (h *Handler) List(c *gin.Context) {
        	var q listQuery
        	if err := c.ShouldBindQuery(&q); err != nil {
        		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
        		return
        	}
        	var parcels []Parcel
        	if err := h.db.WithContext(c.Request.Context()).Where("status = ?", q.Status).Order("id").Limit(q.Limit).Offset((q.Page - 1) * q.Limit).Find(&parcels).Error; err != nil {
        		c.JSON(http.StatusInternalServerError, gin.H{"error": "not listed"})
        		return
        	}
        	c.JSON(http.StatusOK, parcels)
        }
        """,
        25,
    ),
    bad(
        "unbounded-page-size",
        "go",
        """
        package api

        import (
        	"net/http"
        	"strconv"

        	"github.com/labstack/echo/v4"
        )

        func (s *Server) listJobs(c echo.Context) error {
        	limit, err := strconv.Atoi(c.QueryParam("limit"))
        	if err != nil || limit < 1 {
        		limit = 20
        	}
        	jobs, err := s.store.Jobs(c.Request().Context(), c.QueryParam("after"), limit)
        	if err != nil {
        		return echo.NewHTTPError(http.StatusInternalServerError, "jobs not available")
        	}
        	return c.JSON(http.StatusOK, map[string]any{"jobs": jobs, "more": len(jobs) >= limit})
        }
        """,
        11,
    ),
    good(
        "unbounded-page-size",
        "go",
        """
        package api

        import (
        	"net/http"
        	"strconv"

        	"github.com/labstack/echo/v4"
        )

        const pageCap = 200

        func (s *Server) listJobs(c echo.Context) error {
        	limit, err := strconv.Atoi(c.QueryParam("limit"))
        	if err != nil || limit < 1 || limit > pageCap {
        		limit = 20
        	}
        	jobs, err := s.store.Jobs(c.Request().Context(), c.QueryParam("after"), limit)
        	if err != nil {
        		return echo.NewHTTPError(http.StatusInternalServerError, "jobs not available")
        	}
        	return c.JSON(http.StatusOK, map[string]any{"jobs": jobs, "more": len(jobs) >= limit})
        }
        """,
    ),
    bad(
        "unbounded-page-size",
        "java",
        """
        package com.acme.fleet;

        import jakarta.validation.Valid;
        import jakarta.validation.constraints.Min;
        import java.util.List;
        import org.springframework.data.domain.PageRequest;
        import org.springframework.data.domain.Sort;
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.ModelAttribute;
        import org.springframework.web.bind.annotation.RestController;

        @RestController
        public class TripController {
            private final TripRepository trips;

            public TripController(TripRepository trips) {
                this.trips = trips;
            }

            @GetMapping("/trips")
            public List<TripView> list(@Valid @ModelAttribute TripQuery query) {
                return trips.findByVehicle(query.vehicle(), PageRequest.of(query.page(), query.size(), Sort.by("id")))
                        .map(TripView::of)
                        .getContent();
            }

            public record TripQuery(String vehicle, @Min(0) int page, @Min(1) int size) {}
        }
        """,
        22,
    ),
    bad(
        "unbounded-page-size",
        "java",
        """
        package com.acme.audit;

        import jakarta.ws.rs.DefaultValue;
        import jakarta.ws.rs.GET;
        import jakarta.ws.rs.Path;
        import jakarta.ws.rs.QueryParam;
        import java.util.List;
        import org.jdbi.v3.core.Jdbi;

        @Path("/audit")
        public class AuditResource {
            private final Jdbi jdbi;

            public AuditResource(Jdbi jdbi) {
                this.jdbi = jdbi;
            }

            @GET
            public List<AuditEntry> entries(@QueryParam("after") @DefaultValue("0") long after, @QueryParam("limit") @DefaultValue("50") int limit) {
                return jdbi.withHandle(handle -> handle.createQuery("SELECT * FROM audit WHERE id > :after ORDER BY id LIMIT :limit")
                        .bind("after", after)
                        .bind("limit", Math.max(limit, 1))
                        .mapTo(AuditEntry.class)
                        .list());
            }
        }
        """,
        19,
    ),
    bad(
        "unbounded-page-size",
        "kotlin",
        """
        package com.acme

        import io.ktor.server.application.*
        import io.ktor.server.response.*
        import io.ktor.server.routing.*

        fun Route.meterRoutes(meters: MeterStore) {
            get("/meters/{id}/readings") {
                val id = call.parameters["id"]!!.toLong()
                val limit = call.request.queryParameters["limit"]?.toIntOrNull()?.coerceAtLeast(1) ?: 100
                val rows = meters.readings(id, limit)
                call.respond(ReadingPage(rows, more = rows.size >= limit))
            }
        }
        """,
        10,
    ),
    bad(
        "unbounded-page-size",
        "kotlin",
        """
        package com.acme

        import jakarta.validation.Valid
        import jakarta.validation.constraints.Min
        import org.springframework.data.domain.PageRequest
        import org.springframework.web.bind.annotation.*

        data class ParcelQuery(
            val status: String? = null,
            @field:Min(0) val page: Int = 0,
            @field:Min(1) val pageSize: Int = 50,
        )

        @RestController
        class ParcelController(private val parcels: ParcelRepository) {
            @GetMapping("/parcels")
            fun list(@Valid query: ParcelQuery): List<ParcelView> =
                parcels.findByStatus(query.status, PageRequest.of(query.page, query.pageSize)).map(::ParcelView)
        }
        """,
        18,
    ),
    bad(
        "unbounded-page-size",
        "rust",
        """
        use axum::{extract::{Query, State}, Json};
        use serde::Deserialize;
        use sqlx::PgPool;

        #[derive(Deserialize)]
        pub struct PageParams {
            #[serde(default)]
            offset: i64,
            #[serde(default = "default_limit")]
            limit: i64,
        }

        fn default_limit() -> i64 { 50 }

        pub async fn list_parcels(State(pool): State<PgPool>, Query(params): Query<PageParams>) -> Result<Json<Vec<Parcel>>, ApiError> {
            let parcels = sqlx::query_as::<_, Parcel>("SELECT * FROM parcels ORDER BY id LIMIT $1 OFFSET $2")
                .bind(params.limit)
                .bind(params.offset)
                .fetch_all(&pool)
                .await?;
            Ok(Json(parcels))
        }
        """,
        17,
    ),
    good(
        "unbounded-page-size",
        "rust",
        """
        use axum::{extract::{Query, State}, Json};
        use serde::Deserialize;
        use sqlx::PgPool;

        #[derive(Deserialize)]
        pub struct PageParams {
            #[serde(default)]
            offset: i64,
            limit: Option<i64>,
        }

        pub async fn list_parcels(State(pool): State<PgPool>, Query(params): Query<PageParams>) -> Result<Json<Vec<Parcel>>, ApiError> {
            let limit = params.limit.unwrap_or(50).clamp(1, 200);
            let parcels = sqlx::query_as::<_, Parcel>("SELECT * FROM parcels ORDER BY id LIMIT $1 OFFSET $2")
                .bind(limit)
                .bind(params.offset)
                .fetch_all(&pool)
                .await?;
            Ok(Json(parcels))
        }
        """,
    ),
    bad(
        "unbounded-page-size",
        "csharp",
        """
        using Microsoft.AspNetCore.Http.HttpResults;
        using Microsoft.EntityFrameworkCore;

        namespace Acme.Parking;

        public sealed record SessionQuery(string? Plate, int Page = 1, int PageSize = 50);

        public static class SessionEndpoints
        {
            public static void Map(IEndpointRouteBuilder app)
            {
                app.MapGet("/sessions", async ([AsParameters] SessionQuery query, ParkingDb db, CancellationToken ct) =>
                {
                    var rows = await db.Sessions.AsNoTracking()
                        .Where(s => query.Plate == null || s.Plate == query.Plate)
                        .OrderBy(s => s.Id)
                        .Skip((query.Page - 1) * query.PageSize)
                        .Take(query.PageSize)
                        .ToListAsync(ct);
                    return TypedResults.Ok(rows);
                });
            }
        }
        """,
        17,
    ),
    bad(
        "unbounded-page-size",
        "csharp",
        """
        using Microsoft.AspNetCore.Mvc;
        using Microsoft.EntityFrameworkCore;

        [ApiController]
        [Route("permits")]
        public sealed class PermitsController(PermitDb db) : ControllerBase
        {
            [HttpGet]
            public async Task<ActionResult<PermitPage>> List([FromQuery] int page = 1, [FromQuery] int take = 25, CancellationToken ct = default)
            {
                if (page < 1 || take < 1)
                {
                    return BadRequest("page and take must be positive");
                }
                var rows = await db.Permits.AsNoTracking().OrderBy(p => p.Id).Skip((page - 1) * take).Take(take).ToListAsync(ct);
                return new PermitPage(rows, rows.Count == take);
            }
        }
        """,
        9,
    ),
    good(
        "unbounded-page-size",
        "csharp",
        """
        using Microsoft.AspNetCore.Mvc;
        using Microsoft.EntityFrameworkCore;

        [ApiController]
        [Route("permits")]
        public sealed class PermitsController(PermitDb db) : ControllerBase
        {
            [HttpGet]
            public async Task<ActionResult<PermitPage>> List([FromQuery] int page = 1, [FromQuery] int take = 25, CancellationToken ct = default)
            {
                if (page < 1 || take is < 1 or > 200)
                {
                    return BadRequest("page and take must be positive");
                }
                var rows = await db.Permits.AsNoTracking().OrderBy(p => p.Id).Skip((page - 1) * take).Take(take).ToListAsync(ct);
                return new PermitPage(rows, rows.Count == take);
            }
        }
        """,
    ),
    good(
        "unbounded-page-size",
        "java",
        """
        package com.acme;
        import org.springframework.data.domain.PageRequest;
        import org.springframework.web.bind.annotation.*;
        @RestController
        public class TripController {
            private final TripRepository trips;
            public TripController(TripRepository trips) { this.trips = trips; }
            @GetMapping("/trips")
            public Object list(TripQuery query) {
                return trips.findByVehicle(query.vehicle(), PageRequest.of(query.page(), query.size()));
            }
            public record TripQuery(String vehicle, int page, int size) {
                public TripQuery {
                    size = Math.min(Math.max(size, 1), 200);
                }
            }
        }
        """,
    ),
    good(
        "unbounded-page-size",
        "csharp",
        """
        public sealed class PageQuery
        {
            private const int Highest = 100;
            private int _pageSize = 20;
            public int Page { get; init; } = 1;
            public int PageSize { get => _pageSize; init => _pageSize = value > Highest ? Highest : value; }
        }
        [ApiController]
        [Route("rooms")]
        public sealed class RoomsController(RoomDb db) : ControllerBase
        {
            [HttpGet]
            public Task<List<Room>> List([FromQuery] PageQuery query, CancellationToken ct) =>
                db.Rooms.AsNoTracking().OrderBy(r => r.Id).Skip((query.Page - 1) * query.PageSize).Take(query.PageSize).ToListAsync(ct);
        }
        """,
    ),
    good(
        "unbounded-page-size",
        "kotlin",
        """
        package com.acme
        import io.ktor.server.application.*
        import io.ktor.server.response.*
        import io.ktor.server.routing.*
        fun Route.rooms(store: RoomStore) {
            get("/rooms") {
                val limit = (call.request.queryParameters["limit"]?.toIntOrNull() ?: 50).coerceIn(1, 200)
                call.respond(store.rooms(limit))
            }
        }
        """,
    ),
    good(
        "unbounded-page-size",
        "go",
        """
        package api

        import (
        	"net/http"

        	"github.com/gin-gonic/gin"
        )

        type listQuery struct {
        	Page  int `form:"page,default=1" binding:"min=1"`
        	Limit int `form:"limit,default=50" binding:"min=1,max=200"`
        }

        func (h *Handler) List(c *gin.Context) {
        	var q listQuery
        	if err := c.ShouldBindQuery(&q); err != nil {
        		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
        		return
        	}
        	rooms, err := h.store.Rooms(c.Request.Context(), q.Page, q.Limit)
        	if err != nil {
        		c.JSON(http.StatusInternalServerError, gin.H{"error": "not listed"})
        		return
        	}
        	c.JSON(http.StatusOK, rooms)
        }
        """,
    ),
]
