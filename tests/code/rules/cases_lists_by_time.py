"""Lists in the order of time without a limit, caches of connections, and work that is done for each call."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "unbounded-cache",
        "javascript",
        """
        const { WebSocketServer } = require('ws');
        const sockets = new Map();
        function attach(server, verify) {
          const wss = new WebSocketServer({ server, maxPayload: 64 * 1024 });
          wss.on('connection', (ws, req) => {
            const deviceId = verify(req);
            sockets.set(deviceId, ws);
            ws.on('error', () => ws.terminate());
            ws.on('message', (raw) => handle(deviceId, raw));
          });
        }
        function push(deviceId, payload) {
          const ws = sockets.get(deviceId);
          if (ws && ws.readyState === 1) ws.send(JSON.stringify(payload));
        }
        module.exports = { attach, push };
        """,
        2,
    ),
    bad(
        "unbounded-cache",
        "java",
        """
        package com.acme;

        import com.google.common.cache.CacheBuilder;
        import com.google.common.cache.CacheLoader;
        import com.google.common.cache.LoadingCache;

        public class AvatarStore {
            private final LoadingCache<String, byte[]> avatars;

            public AvatarStore(AvatarClient client) {
                this.avatars = CacheBuilder.newBuilder()
                    .concurrencyLevel(8)
                    .recordStats()
                    .build(CacheLoader.from(client::download));
            }

            public byte[] avatar(String email) {
                return avatars.getUnchecked(email);
            }
        }
        """,
        11,
    ),
    bad(
        "unbounded-cache",
        "rust",
        """
        use std::collections::HashMap;
        use std::sync::Arc;
        use axum::{extract::{Path, State}, Json};
        use tokio::sync::RwLock;

        #[derive(Clone)]
        pub struct AppState {
            geo: GeoClient,
            places: Arc<RwLock<HashMap<String, Place>>>,
        }

        pub async fn place(State(state): State<AppState>, Path(address): Path<String>) -> Result<Json<Place>, ApiError> {
            if let Some(found) = state.places.read().await.get(&address) {
                return Ok(Json(found.clone()));
            }
            let place = state.geo.locate(&address).await?;
            state.places.write().await.insert(address, place.clone());
            Ok(Json(place))
        }
        """,
        9,
    ),
    bad(
        "unbounded-cache",
        "csharp",
        """
        using Microsoft.Extensions.Caching.Memory;

        public sealed class AvatarService(HttpClient http, IMemoryCache cache)
        {
            public async Task<byte[]> AvatarAsync(string email, CancellationToken ct)
            {
                if (cache.TryGetValue(email, out byte[]? known)) return known!;
                var bytes = await http.GetByteArrayAsync($"avatars/{Uri.EscapeDataString(email)}", ct);
                cache.Set(email, bytes);
                return bytes;
            }
        }
        """,
        9,
    ),
    bad(
        "missing-limit",
        "python",
        """
        import csv

        def export_events(conn, tenant, path):
            with conn.cursor() as cur:
                cur.execute("SELECT at, kind, payload FROM events WHERE tenant = %s ORDER BY at", (tenant,))
                rows = cur.fetchall()
            with open(path, "a", newline="") as out:
                writer = csv.writer(out)
                for row in rows:
                    writer.writerow(row)
        """,
        6,
    ),
    bad(
        "missing-limit",
        "go",
        """
        package api

        import (
        	"encoding/json"
        	"net/http"
        )

        func (a *API) observations(w http.ResponseWriter, r *http.Request) {
        	rows, err := a.db.QueryContext(r.Context(), "SELECT id, taken_at, value FROM observations WHERE station = $1 ORDER BY taken_at DESC", r.PathValue("station"))
        	if err != nil {
        		http.Error(w, "failed", http.StatusInternalServerError)
        		return
        	}
        	defer rows.Close()
        	out := []Observation{}
        	for rows.Next() {
        		var o Observation
        		if err := rows.Scan(&o.ID, &o.TakenAt, &o.Value); err != nil {
        			http.Error(w, "failed", http.StatusInternalServerError)
        			return
        		}
        		out = append(out, o)
        	}
        	if err := rows.Err(); err != nil {
        		http.Error(w, "failed", http.StatusInternalServerError)
        		return
        	}
        	_ = json.NewEncoder(w).Encode(out)
        }
        """,
        9,
    ),
    bad(
        "missing-limit",
        "typescript",
        """
        import type { Collection } from "mongodb";
        import type { Request, Response } from "express";
        export function history(scans: Collection<Scan>) {
          return async (req: Request, res: Response) => {
            const found = await scans.find({ parcelDepot: req.params.depot }).sort({ scannedAt: -1 }).toArray();
            res.json(found);
          };
        }
        """,
        5,
    ),
    bad(
        "missing-limit",
        "rust",
        """
        use axum::{extract::{Path, State}, Json};
        use sqlx::PgPool;

        pub async fn scans(State(pool): State<PgPool>, Path(depot): Path<String>) -> Result<Json<Vec<Scan>>, ApiError> {
            let scans = sqlx::query_as::<_, Scan>("SELECT * FROM scans WHERE depot = $1 ORDER BY scanned_at DESC")
                .bind(&depot)
                .fetch_all(&pool)
                .await?;
            Ok(Json(scans))
        }
        """,
        5,
    ),
    bad(
        "missing-limit",
        "csharp",
        """
        using Microsoft.AspNetCore.Mvc;
        using Microsoft.EntityFrameworkCore;

        [ApiController]
        [Route("depots/{depot}/scans")]
        public sealed class ScansController(ScanDb db) : ControllerBase
        {
            [HttpGet]
            public async Task<IReadOnlyList<ScanView>> List(string depot, CancellationToken ct) =>
                await db.Scans.AsNoTracking()
                    .Where(s => s.Depot == depot)
                    .OrderByDescending(s => s.ScannedAt)
                    .Select(s => new ScanView(s.Id, s.ScannedAt, s.Parcel))
                    .ToListAsync(ct);
        }
        """,
        10,
    ),
    bad(
        "missing-limit",
        "kotlin",
        """
        package com.acme

        import io.ktor.server.application.*
        import io.ktor.server.response.*
        import io.ktor.server.routing.*
        import org.jetbrains.exposed.sql.*
        import org.jetbrains.exposed.sql.transactions.experimental.newSuspendedTransaction

        fun Route.scans() {
            get("/depots/{depot}/scans") {
                val depot = call.parameters["depot"]!!
                val scans = newSuspendedTransaction {
                    Scans.selectAll().where { Scans.depot eq depot }.orderBy(Scans.scannedAt, SortOrder.DESC).map(::toScan)
                }
                call.respond(scans)
            }
        }
        """,
        13,
    ),
    bad(
        "compiled-per-call",
        "python",
        """
        import joblib
        from fastapi import FastAPI
        app = FastAPI()

        @app.post("/score")
        def score(features: list[float]):
            model = joblib.load("models/churn.joblib")
            return {"score": float(model.predict_proba([features])[0][1])}
        """,
        7,
    ),
    bad(
        "compiled-per-call",
        "rust",
        """
        use regex::Regex;

        pub fn plates(lines: &[String]) -> Vec<String> {
            lines
                .iter()
                .filter(|line| Regex::new(r"^[A-Z]{1,3}-[A-Z]{1,2} \\d{1,4}$").unwrap().is_match(line))
                .cloned()
                .collect()
        }
        """,
        6,
    ),
    bad(
        "request-in-transaction",
        "go",
        """
        package pay

        import (
        	"context"
        	"net/http"

        	"github.com/jackc/pgx/v5"
        	"github.com/jackc/pgx/v5/pgxpool"
        )

        func (s *Service) Confirm(ctx context.Context, pool *pgxpool.Pool, id int64) error {
        	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
        		var ref string
        		if err := tx.QueryRow(ctx, "SELECT payment_ref FROM bookings WHERE id = $1 FOR UPDATE", id).Scan(&ref); err != nil {
        			return err
        		}
        		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.payURL+"/captures/"+ref, nil)
        		if err != nil {
        			return err
        		}
        		resp, err := s.http.Do(req)
        		if err != nil {
        			return err
        		}
        		defer resp.Body.Close()
        		_, err = tx.Exec(ctx, "UPDATE bookings SET status = 'paid' WHERE id = $1", id)
        		return err
        	})
        }
        """,
        21,
    ),
]
