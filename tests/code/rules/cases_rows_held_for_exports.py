"""Rows that are all held before the first is written, lists without a limit, sizes that requests choose."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_TABLE = "whole-table-loaded"
_LIMIT = "missing-limit"
_SIZE = "unbounded-page-size"

CASES = [
    bad(
        _TABLE,
        "csharp",
        """
        public static class GateScanExport {
            private static async Task ExportAsync(int season, HttpContext http, TicketingDb db) {
                var scans = await db.GateScans.AsNoTracking().Where(s => s.SeasonId == season).ToListAsync();
                await using var writer = new StreamWriter(http.Response.Body);
                foreach (var scan in scans) {
                    await writer.WriteLineAsync(Format(scan));
                }
            }
        }
        """,
        3,
    ),
    good(
        _TABLE,
        "csharp",
        """
        public static class GateScanExport {
            private static async Task ExportAsync(int season, HttpContext http, TicketingDb db) {
                var scans = db.GateScans.AsNoTracking().Where(s => s.SeasonId == season).AsAsyncEnumerable();
                await using var writer = new StreamWriter(http.Response.Body);
                await foreach (var scan in scans) {
                    await writer.WriteLineAsync(Format(scan));
                }
            }
        }
        """,
    ),
    bad(
        _TABLE,
        "java",
        """
        class ClaimExportController {
            private final ClaimRepository claims;
            void export(Writer writer, LocalDate from, LocalDate to) throws IOException {
                List<Claim> settled = claims.findSettled(from, to, 0, Limit.unlimited());
                for (Claim claim : settled) {
                    writeLine(writer, claim);
                }
            }
        }
        """,
        4,
    ),
    good(
        _TABLE,
        "java",
        """
        class ClaimExportController {
            private final ClaimRepository claims;
            void export(Writer writer, LocalDate from, LocalDate to) throws IOException {
                List<Claim> page = claims.findSettled(from, to, 0, Limit.of(PAGE));
                while (!page.isEmpty()) {
                    for (Claim claim : page) {
                        writeLine(writer, claim);
                    }
                    page = claims.findSettled(from, to, last(page), Limit.of(PAGE));
                }
            }
        }
        class InvoiceView {
            private final LineRepository lines;
            void show(Writer writer, long invoice) throws IOException {
                List<Line> found = lines.findByInvoice(invoice);
                for (Line line : found) {
                    writeLine(writer, line);
                }
            }
        }
        """,
    ),
    bad(
        _LIMIT,
        "java",
        """
        class Games {
            private final MongoCollection<Document> games;
            public List<Document> history(String player) {
                return games.find(Filters.eq("players", player))
                        .sort(Sorts.descending("finishedAt"))
                        .batchSize(200)
                        .into(new ArrayList<>());
            }
        }
        """,
        4,
    ),
    good(
        _LIMIT,
        "java",
        """
        class Games {
            private final MongoCollection<Document> games;
            public List<Document> history(String player) {
                return games.find(Filters.eq("players", player))
                        .sort(Sorts.descending("finishedAt"))
                        .limit(200)
                        .into(new ArrayList<>());
            }
        }
        """,
    ),
    good(
        _LIMIT,
        "go",
        """
        package ledger
        func (e *Export) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            rows, err := e.db.QueryContext(r.Context(), "SELECT id, cents FROM entries WHERE a = $1", id(r))
            if err != nil {
                http.Error(w, "unavailable", 503)
                return
            }
            defer rows.Close()
            out := csv.NewWriter(w)
            for rows.Next() {
                var id, cents string
                if err := rows.Scan(&id, &cents); err != nil {
                    panic(http.ErrAbortHandler)
                }
                out.Write([]string{id, cents})
            }
        }
        """,
    ),
    bad(
        _SIZE,
        "kotlin",
        """
        private fun ApplicationCall.window() = Window(
            after = request.queryParameters["after"]?.toLongOrNull() ?: 0L,
            size = request.queryParameters["size"]?.toIntOrNull() ?: 50,
        )
        """,
        3,
    ),
    good(
        _SIZE,
        "kotlin",
        """
        private fun ApplicationCall.window() = Window(
            after = request.queryParameters["after"]?.toLongOrNull() ?: 0L,
            size = (request.queryParameters["size"]?.toIntOrNull() ?: 50).coerceIn(1, 200),
        )
        """,
    ),
    bad(
        _SIZE,
        "go",
        """
        package list
        func (a *API) List(w http.ResponseWriter, r *http.Request) {
            opts := options.Find().SetLimit(parseInt(r.URL.Query().Get("limit")))
            a.write(w, opts)
        }
        """,
        3,
    ),
]
