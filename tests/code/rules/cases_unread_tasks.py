"""Lists of tasks that nothing waits for, and services that return what they could not write."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_FAILURE_ONLY_LOGGED = "failure-only-logged"
_FIRE_AND_FORGET = "fire-and-forget"

CASES = [
    bad(
        _FIRE_AND_FORGET,
        "javascript",
        """
        export async function importAll(rows, api) {
          const jobs = rows.slice(0, 10).map(async (row) => {
            await api.create(row);
          });
          return { imported: jobs.length };
        }
        """,
        2,
    ),
    good(
        _FIRE_AND_FORGET,
        "javascript",
        """
        export async function importAll(rows, api) {
          const jobs = rows.slice(0, 10).map(async (row) => {
            await api.create(row);
          });
          await Promise.all(jobs);
          return { imported: jobs.length };
        }
        """,
    ),
    bad(
        _FIRE_AND_FORGET,
        "javascript",
        """
        async function create(api, row) {
          await api.post("/rows", row);
        }
        export async function importAll(rows, api) {
          const jobs = [];
          for (const row of rows.slice(0, 10)) {
            jobs.push(create(api, row));
          }
          return { imported: jobs.length };
        }
        """,
        7,
    ),
    bad(
        _FIRE_AND_FORGET,
        "python",
        """
        import asyncio

        async def import_all(rows, api):
            tasks = [asyncio.create_task(api.create(row)) for row in rows[:10]]
            return {"imported": len(tasks)}
        """,
        4,
    ),
    bad(
        _FIRE_AND_FORGET,
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor

        def import_all(rows, api):
            with ThreadPoolExecutor(max_workers=4) as pool:
                futures = [pool.submit(api.create, row) for row in rows]
            return {"imported": len(futures)}
        """,
        5,
    ),
    good(
        _FIRE_AND_FORGET,
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor, as_completed

        def import_all(rows, api):
            with ThreadPoolExecutor(max_workers=4) as pool:
                futures = [pool.submit(api.create, row) for row in rows]
                for future in as_completed(futures, timeout=60):
                    future.result()
            return {"imported": len(futures)}
        """,
    ),
    bad(
        _FIRE_AND_FORGET,
        "java",
        """
        package x;
        import java.util.*;
        import java.util.concurrent.*;

        public class Importer {
            private final ExecutorService pool;
            private final Api api;
            Importer(ExecutorService pool, Api api) { this.pool = pool; this.api = api; }

            public int importAll(List<Row> rows) {
                List<CompletableFuture<Void>> jobs = new ArrayList<>();
                for (Row row : rows) {
                    jobs.add(CompletableFuture.runAsync(() -> api.create(row), pool));
                }
                return jobs.size();
            }
        }
        """,
        13,
    ),
    good(
        _FIRE_AND_FORGET,
        "java",
        """
        package x;
        import java.util.*;
        import java.util.concurrent.*;

        public class Importer {
            private final ExecutorService pool;
            private final Api api;
            Importer(ExecutorService pool, Api api) { this.pool = pool; this.api = api; }

            public int importAll(List<Row> rows) throws Exception {
                List<CompletableFuture<Void>> jobs = new ArrayList<>();
                for (Row row : rows) {
                    jobs.add(CompletableFuture.runAsync(() -> api.create(row), pool));
                }
                CompletableFuture.allOf(jobs.toArray(new CompletableFuture[0])).get(60, TimeUnit.SECONDS);
                return jobs.size();
            }
        }
        """,
    ),
    bad(
        _FIRE_AND_FORGET,
        "csharp",
        """
        using System.Collections.Generic;
        using System.Threading.Tasks;

        public class Importer
        {
            public async Task<int> ImportAsync(List<Row> rows, IApi api)
            {
                var tasks = new List<Task>();
                foreach (var row in rows)
                {
                    tasks.Add(api.CreateAsync(row));
                }
                await Task.Yield();
                return tasks.Count;
            }
        }
        """,
        11,
    ),
    good(
        _FIRE_AND_FORGET,
        "csharp",
        """
        using System.Collections.Generic;
        using System.Threading.Tasks;

        public class Importer
        {
            public async Task<int> ImportAsync(IReadOnlyList<Row> rows, IApi api)
            {
                var tasks = new List<Task>(4);
                for (var i = 0; i < 4; i++)
                {
                    tasks.Add(api.CreateAsync(rows[i]));
                }
                await Task.WhenAll(tasks);
                return tasks.Count;
            }
        }
        """,
    ),
    bad(
        _FIRE_AND_FORGET,
        "kotlin",
        """
        package x
        import kotlinx.coroutines.*

        class Importer(private val api: Api, private val scope: CoroutineScope) {
            fun importAll(rows: List<Row>): Int {
                val jobs = rows.take(10).map { row -> scope.async { api.create(row) } }
                return jobs.size
            }
        }
        """,
        6,
    ),
    bad(
        _FIRE_AND_FORGET,
        "rust",
        """
        pub async fn import_all(rows: Vec<Row>, api: Api) -> usize {
            let mut handles = Vec::new();
            for row in rows.into_iter().take(10) {
                let api = api.clone();
                handles.push(tokio::spawn(async move { api.create(&row).await }));
            }
            handles.len()
        }
        """,
        5,
    ),
    good(
        _FIRE_AND_FORGET,
        "rust",
        """
        pub async fn import_all(rows: Vec<Row>, api: Api) -> anyhow::Result<usize> {
            let mut handles = Vec::new();
            for row in rows.into_iter().take(10) {
                let api = api.clone();
                handles.push(tokio::spawn(async move { api.create(&row).await }));
            }
            let count = handles.len();
            for handle in handles {
                handle.await??;
            }
            Ok(count)
        }
        """,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.Extensions.Logging;

        public class Notes
        {
            private readonly AppDb _db;
            private readonly ILogger<Notes> _log;
            public Notes(AppDb db, ILogger<Notes> log) { _db = db; _log = log; }
            public async Task<long> IssueAsync(Note note)
            {
                _db.Notes.Add(note);
                try { await _db.SaveChangesAsync(); }
                catch (Exception e) { _log.LogError(e, "note not stored"); }
                return note.Id;
            }
        }
        """,
        14,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "go",
        """
        package x

        import (
        	"context"
        	"database/sql"
        	"log/slog"
        )

        func (s *Store) Issue(ctx context.Context, n Note) (int64, error) {
        	tx, err := s.db.BeginTx(ctx, nil)
        	if err != nil {
        		return 0, err
        	}
        	defer tx.Rollback()
        	if _, err := tx.ExecContext(ctx, "INSERT INTO notes (id, cents) VALUES ($1, $2)", n.ID, n.Cents); err != nil {
        		return 0, err
        	}
        	if err := tx.Commit(); err != nil {
        		slog.Error("commit", "err", err)
        	}
        	return n.ID, nil
        }
        """,
        18,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "java",
        """
        package x;
        import java.sql.*;
        import org.slf4j.*;

        public class Notes {
            private static final Logger log = LoggerFactory.getLogger(Notes.class);
            long issue(Connection con, Note note) throws SQLException {
                try (PreparedStatement st = con.prepareStatement("INSERT INTO notes (id, cents) VALUES (?, ?)")) {
                    st.setQueryTimeout(5);
                    st.setLong(1, note.id());
                    st.setLong(2, note.cents());
                    st.executeUpdate();
                }
                try {
                    con.commit();
                } catch (SQLException e) {
                    log.error("note not committed", e);
                }
                return note.id();
            }
        }
        """,
        16,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "kotlin",
        """
        package x
        import org.slf4j.LoggerFactory

        class Notes(private val repo: NoteRepository) {
            private val log = LoggerFactory.getLogger(javaClass)
            fun issue(note: Note): NoteId {
                try {
                    repo.save(note)
                } catch (e: Exception) {
                    log.error("note not stored", e)
                }
                return note.id
            }
        }
        """,
        9,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)

        def issue(session, note):
            session.add(note)
            try:
                session.commit()
            except Exception:
                log.exception("note not committed")
                session.rollback()
            return note.id
        """,
        8,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "rust",
        """
        pub async fn issue(pool: &sqlx::PgPool, note: &Note) -> anyhow::Result<i64> {
            let mut tx = pool.begin().await?;
            sqlx::query("INSERT INTO notes (id, cents) VALUES ($1, $2)").bind(note.id).bind(note.cents).execute(&mut *tx).await?;
            if let Err(e) = tx.commit().await {
                tracing::error!(error = %e, "note not committed");
            }
            Ok(note.id)
        }
        """,
        4,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "typescript",
        """
        import type { Repository } from "typeorm";
        import { Note } from "./note";
        import { log } from "./log";

        export class Notes {
          constructor(private readonly repo: Repository<Note>) {}
          async issue(note: Note): Promise<string> {
            try {
              await this.repo.save(note);
            } catch (err) {
              log.error({ err }, "note not stored");
            }
            return note.id;
          }
        }
        """,
        10,
    ),
]
