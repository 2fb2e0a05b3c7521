"""Answers that end as if they were whole after what fills them has failed, and clients and errors told apart."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_RULE, _GONE = "error-answered-as-success", "failure-answered-as-not-found"
_UPSTREAM, _STATUS, _EMPTY = "upstream-error-not-mapped", "unchecked-response-status", "failure-looks-empty"
_GO = """
    package a
    import "net/http"
    func (e *E) ServeHTTP(w http.ResponseWriter, r *http.Request) {{
    	rows, err := e.db.QueryContext(r.Context(), sql)
    	if err != nil {{
    		http.Error(w, "down", http.StatusServiceUnavailable)
    		return
    	}}
    	defer rows.Close()
    	out := csv.NewWriter(w)
    	if err := e.copyRows(rows, out); err != nil {{
    		slog.Error("interrupted", "err", err)
    		{}
    	}}
    }}
    """
_PYTHON = """
    from fastapi.responses import StreamingResponse
    def lines(cursor):
        try:
            for row in cursor:
                yield row.line()
        except Exception:
            log.exception("cut")
            {}
    @app.get("/export")
    def export():
        return StreamingResponse(lines(open_cursor()))
    """
_NODE = """
    app.get('/export', async (req, res) => {{
      try {{
        for await (const row of cursor()) {{
          res.write(line(row));
        }}
        res.end();
      }} catch (err) {{
        log.error({{ err }}, 'cut');
        {};
      }}
    }});
    """
_CSHARP = """
    class Export {{
        [HttpGet("/export")]
        public async Task Get() {{
            try {{
                await foreach (var row in _rows.Read()) {{
                    await Response.WriteAsync(row.Line());
                }}
            }} catch (Exception ex) {{
                _logger.LogError(ex, "cut");
                {}
            }}
        }}
    }}
    """
_HEAD = """
    async fn download(State(s3): State<Client>) -> Result<Redirect, StatusCode> {{
        if let Err(err) = s3.head_object().key("a").send().await {{
            return {};
        }}
        Ok(Redirect::temporary("a"))
    }}
    pub fn routes() -> Router {{ Router::new().route("/a", get(download)) }}
    """

CASES: list[Case] = [
    bad(_RULE, "go", _GO.format("out.Flush()\n    		return"), 11),
    good(_RULE, "go", _GO.format("panic(http.ErrAbortHandler)")),
    bad(_RULE, "python", _PYTHON.format("return"), 6),
    good(_RULE, "python", _PYTHON.format("raise")),
    bad(_RULE, "javascript", _NODE.format("res.end()"), 7),
    good(_RULE, "javascript", _NODE.format("res.destroy(err)")),
    bad(_RULE, "csharp", _CSHARP.format(""), 8),
    good(_RULE, "csharp", _CSHARP.format("HttpContext.Abort();")),
    bad(_GONE, "rust", _HEAD.format("Err(StatusCode::NOT_FOUND)"), 2),
    good(
        _GONE,
        "rust",
        _HEAD.format(
            "match err.as_service_error() { Some(e) if e.is_gone() => Err(StatusCode::NOT_FOUND), _ => Err(upstream(err)) }"
        ),
    ),
    good(
        _UPSTREAM,
        "python",
        """
        async def push(http: httpx.AsyncClient, calendar: str) -> None:
            response = await http.put(f"/calendars/{calendar}", timeout=5.0)
            response.raise_for_status()
        @router.post("/sync")
        async def sync(calendars: list[str], http: httpx.AsyncClient = Depends(get_http)):
            results = await asyncio.gather(*(push(http, each) for each in calendars), return_exceptions=True)
            return {"failed": sum(isinstance(each, BaseException) for each in results)}
        """,
    ),
    good(
        _STATUS,
        "kotlin",
        """
        import io.ktor.client.HttpClient
        fun insurer(): HttpClient = HttpClient(OkHttp) { expectSuccess = true }
        class Coverage(private val http: HttpClient) {
            suspend fun find(member: String): Plan = http.get("https://a/$member").body()
        }
        """,
    ),
    good(
        _EMPTY,
        "kotlin",
        """
        class PreviewLoader(private val http: OkHttpClient) {
            fun load(request: Request): Preview? = try {
                http.newCall(request).execute().use { it.preview() }
            } catch (e: IOException) {
                log.info("no preview", e)
                null
            }
        }
        """,
    ),
]
