"""Commits whose failure is logged and answered with success."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_FAILURE_ONLY_LOGGED = "failure-only-logged"

CASES = [
    bad(
        _FAILURE_ONLY_LOGGED,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.AspNetCore.Mvc;
        using Microsoft.Extensions.Logging;

        [ApiController]
        [Route("credit-notes")]
        public class CreditNotesController : ControllerBase
        {
            private readonly AppDb _db;
            private readonly ILogger<CreditNotesController> _log;
            public CreditNotesController(AppDb db, ILogger<CreditNotesController> log) { _db = db; _log = log; }

            [HttpPost]
            public async Task<IActionResult> Issue(CreditRequest request)
            {
                await using var tx = await _db.Database.BeginTransactionAsync();
                _db.Notes.Add(new Note(request.Id, request.Cents));
                await _db.SaveChangesAsync();
                try { await tx.CommitAsync(); }
                catch (Exception e) { _log.LogError(e, "credit note not committed"); }
                return Created($"/credit-notes/{request.Id}", null);
            }
        }
        """,
        21,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "go",
        """
        package x

        import (
        	"database/sql"
        	"encoding/json"
        	"log/slog"
        	"net/http"
        )

        func (s *Server) issue(w http.ResponseWriter, r *http.Request) {
        	var req CreditRequest
        	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
        		http.Error(w, "bad request", http.StatusBadRequest)
        		return
        	}
        	tx, err := s.db.BeginTx(r.Context(), nil)
        	if err != nil {
        		http.Error(w, "storage", http.StatusServiceUnavailable)
        		return
        	}
        	defer tx.Rollback()
        	if _, err := tx.ExecContext(r.Context(), "INSERT INTO notes (id, cents) VALUES ($1, $2)", req.ID, req.Cents); err != nil {
        		http.Error(w, "storage", http.StatusServiceUnavailable)
        		return
        	}
        	if err := tx.Commit(); err != nil {
        		slog.Error("commit", "err", err)
        	}
        	w.WriteHeader(http.StatusCreated)
        }
        """,
        26,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "java",
        """
        package x;
        import java.sql.*;
        import org.slf4j.*;
        import org.springframework.http.*;
        import org.springframework.web.bind.annotation.*;

        @RestController
        public class Notes {
            private static final Logger log = LoggerFactory.getLogger(Notes.class);
            private final javax.sql.DataSource ds;
            Notes(javax.sql.DataSource ds) { this.ds = ds; }

            @PostMapping("/notes")
            public ResponseEntity<Void> issue(@RequestBody NoteRequest request) throws SQLException {
                try (Connection con = ds.getConnection()) {
                    con.setAutoCommit(false);
                    try (PreparedStatement st = con.prepareStatement("INSERT INTO notes (id, cents) VALUES (?, ?)")) {
                        st.setQueryTimeout(5);
                        st.setString(1, request.id());
                        st.setLong(2, request.cents());
                        st.executeUpdate();
                    } catch (SQLException e) {
                        con.rollback();
                        throw e;
                    }
                    try {
                        con.commit();
                    } catch (SQLException e) {
                        log.error("note {} not committed", request.id(), e);
                    }
                }
                return ResponseEntity.status(HttpStatus.CREATED).build();
            }
        }
        """,
        28,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "kotlin",
        """
        package x
        import io.ktor.http.*
        import io.ktor.server.application.*
        import io.ktor.server.request.*
        import io.ktor.server.response.*
        import io.ktor.server.routing.*
        import org.slf4j.LoggerFactory

        private val log = LoggerFactory.getLogger("notes")

        fun Route.notes(ds: javax.sql.DataSource) {
            post("/notes") {
                val request = call.receive<NoteRequest>()
                ds.connection.use { con ->
                    con.autoCommit = false
                    con.prepareStatement("INSERT INTO notes (id, cents) VALUES (?, ?)").use {
                        it.queryTimeout = 5
                        it.setString(1, request.id)
                        it.setLong(2, request.cents)
                        it.executeUpdate()
                    }
                    try {
                        con.commit()
                    } catch (e: java.sql.SQLException) {
                        log.error("note {} not committed", request.id, e)
                    }
                }
                call.respond(HttpStatusCode.Created, NoteIssued(request.id))
            }
        }
        """,
        24,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        from fastapi import FastAPI, Depends
        from sqlalchemy.ext.asyncio import AsyncSession
        from sqlalchemy.exc import SQLAlchemyError
        from .db import get_session
        from .models import Note, NoteIn

        app = FastAPI()
        log = logging.getLogger(__name__)

        @app.post("/notes", status_code=201)
        async def issue(note: NoteIn, session: AsyncSession = Depends(get_session)):
            row = Note(**note.model_dump())
            session.add(row)
            try:
                await session.commit()
            except SQLAlchemyError:
                log.exception("note %s not committed", note.id)
            return {"id": note.id}
        """,
        17,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        from fastapi import FastAPI, Depends, HTTPException
        from sqlalchemy.ext.asyncio import AsyncSession
        from sqlalchemy.exc import SQLAlchemyError
        from .db import get_session
        from .models import Note, NoteIn

        app = FastAPI()
        log = logging.getLogger(__name__)

        @app.post("/notes", status_code=201)
        async def issue(note: NoteIn, session: AsyncSession = Depends(get_session)):
            session.add(Note(**note.model_dump()))
            try:
                await session.commit()
            except SQLAlchemyError as exc:
                await session.rollback()
                log.exception("note %s not committed", note.id)
                raise HTTPException(503) from exc
            return {"id": note.id}
        """,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "typescript",
        """
        import type { Request, Response, NextFunction } from "express";
        import type { Pool } from "pg";
        import { log } from "./log";

        export function issue(pool: Pool) {
          return async (req: Request, res: Response, next: NextFunction) => {
            const client = await pool.connect().catch(next);
            if (!client) return;
            try {
              await client.query("BEGIN");
              await client.query("INSERT INTO notes (id, cents) VALUES ($1, $2)", [req.body.id, req.body.cents]);
              try {
                await client.query("COMMIT");
              } catch (err) {
                log.error({ err }, "note not committed");
              }
              res.status(201).json({ id: req.body.id });
            } catch (err) {
              await client.query("ROLLBACK").catch(() => undefined);
              next(err);
            } finally {
              client.release();
            }
          };
        }
        """,
        14,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};

        pub async fn issue(State(pool): State<sqlx::PgPool>, Json(body): Json<NoteRequest>) -> Result<StatusCode, StatusCode> {
            let mut tx = pool.begin().await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
            if let Err(e) = insert(&mut tx, &body).await {
                tracing::error!(error = %e, "note");
                if let Err(e) = tx.rollback().await {
                    tracing::warn!(error = %e, "rollback");
                }
                return Err(StatusCode::SERVICE_UNAVAILABLE);
            }
            if let Err(e) = tx.commit().await {
                tracing::error!(error = %e, "commit");
                return Err(StatusCode::SERVICE_UNAVAILABLE);
            }
            Ok(StatusCode::CREATED)
        }
        """,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};

        pub async fn issue(State(repo): State<NoteRepo>, Json(body): Json<NoteRequest>) -> (StatusCode, Json<Note>) {
            let note = Note::from(body);
            repo.insert(&note)
                .await
                .inspect_err(|e| tracing::error!(error = %e, "note not stored"))
                .ok();
            (StatusCode::CREATED, Json(note))
        }
        """,
        5,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};

        pub async fn issue(State(repo): State<NoteRepo>, Json(body): Json<NoteRequest>) -> (StatusCode, Json<Note>) {
            let note = Note::from(body);
            repo.insert(&note).await.unwrap_or_else(|e| tracing::error!(error = %e, "note not stored"));
            (StatusCode::CREATED, Json(note))
        }
        """,
        5,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};

        pub async fn issue(State(repo): State<NoteRepo>, Json(body): Json<NoteRequest>) -> StatusCode {
            if let Ok(id) = repo.insert(&body).await {
                tracing::info!(id, "note stored");
            }
            StatusCode::CREATED
        }
        """,
        4,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "typescript",
        """
        import { NextResponse } from "next/server";
        import { db } from "@/lib/db";

        export async function POST(request: Request) {
          const order = await request.json();
          try {
            await db.order.create({ data: order });
          } catch (err) {
            console.error("order not stored", err);
          }
          return NextResponse.json({ id: order.id }, { status: 201 });
        }
        """,
        8,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "typescript",
        """
        "use server";
        import { db } from "@/lib/db";

        export async function saveOrder(form: FormData) {
          try {
            await db.order.create({ data: { id: String(form.get("id")) } });
          } catch (err) {
            console.error("order not stored", err);
          }
          return { ok: true };
        }
        """,
        7,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)

        class Orders:
            def __init__(self, repo):
                self.repo = repo

            def place(self, order) -> bool:
                try:
                    self.repo.insert(order)
                except Exception:
                    log.exception("order %s not stored", order.id)
                return True
        """,
        11,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        from contextlib import suppress

        class Orders:
            def __init__(self, repo, stock):
                self.repo = repo
                self.stock = stock

            def place(self, order):
                with suppress(Exception):
                    self.stock.reserve(order.sku, order.count)
                self.repo.insert(order)
        """,
        10,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "java",
        """
        package x;
        import org.slf4j.*;
        import org.springframework.transaction.annotation.Transactional;

        public class Orders {
            private static final Logger log = LoggerFactory.getLogger(Orders.class);
            private final OrderRepository orders;
            private final StockRepository stock;
            Orders(OrderRepository orders, StockRepository stock) { this.orders = orders; this.stock = stock; }

            @Transactional
            public void place(Order order) {
                orders.save(order);
                try {
                    stock.decrement(order.sku(), order.count());
                } catch (RuntimeException e) {
                    log.error("stock", e);
                }
            }
        }
        """,
        16,
    ),
]
