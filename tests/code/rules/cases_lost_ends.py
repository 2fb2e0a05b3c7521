"""Errors that deferred functions, pipes, exits of contexts, buffers and streams of rows keep to themselves."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_IGNORED, _SWALLOWED, _LOST = "ignored-error", "swallowed-error", "failure-looks-empty"
_ROWS, _OUTCOME, _LOGGED = "iteration-error-ignored", "outcome-ignored", "secret-in-log"
_DEFERRED = """
    package a
    func (a *A) inTx(ctx context.Context, fn func(pgx.Tx) error) {} {{
    	tx, err := a.pool.Begin(ctx)
    	if err != nil {{
    		return err
    	}}
    	defer func() {{
    		if err != nil {{
    			_ = tx.Rollback(ctx)
    			return
    		}}
    		err = tx.Commit(ctx)
    	}}()
    	err = fn(tx)
    	return err
    }}
    """
_PIPE = """
    package a
    import "io"
    func (a *A) day(ctx context.Context) error {{
    	pr, pw := io.Pipe()
    	go func() {{
    		{}
    	}}()
    	return a.upload(ctx, pr)
    }}
    """
_EXIT = """
    class Unit:
        def __exit__(self, kind, exc, tb) -> bool:
            try:
                self._conn.rollback()
            finally:
                self._conn.close()
            {}
    """
_STREAM = """
    async fn export(pool: &PgPool) -> anyhow::Result<u64> {{
        let mut rows = sqlx::query_as::<_, Row>("SELECT a FROM b")
            .fetch(pool)
            {};
        write(rows).await
    }}
    """
_FIELD = """
    pub struct Segment {{
        out: BufWriter<File>,
    }}
    impl Segment {{
        fn push(&mut self, sample: &[u8]) -> io::Result<()> {{ self.out.write_all(sample) }}
        fn seal(self) -> io::Result<()> {{
            let Self {{ out }} = self;
            {};
            fs::rename("a", "b")
        }}
    }}
    """
_RUNNER = """
    class Importer {{
        long store(List<Point> points) {{
            return points.stream().map(point -> attempt(() -> insert(dsl, point))).flatMap(Optional::stream).count();
        }}
        private static <T> Optional<T> attempt(Callable<T> step) {{
            try {{
                return Optional.ofNullable(step.call());
            }} catch (Exception e) {{
                {}
            }}
        }}
    }}
    """

CASES: list[Case] = [
    bad(_IGNORED, "go", _DEFERRED.format("error"), 12),
    good(_IGNORED, "go", _DEFERRED.format("(err error)")),
    bad(
        _IGNORED,
        "go",
        _PIPE.format("defer pw.Close(); if err := encode(pw); err != nil { slog.Error(err.Error()) }"),
        6,
    ),
    good(_IGNORED, "go", _PIPE.format("pw.CloseWithError(encode(pw))")),
    good(_IGNORED, "go", _PIPE.format("defer pw.Close(); greet(pw)")),
    bad(_SWALLOWED, "python", _EXIT.format("return self._conn is not None"), 7),
    bad(_SWALLOWED, "python", _EXIT.format("return True"), 7),
    good(_SWALLOWED, "python", _EXIT.format("return False")),
    good(_SWALLOWED, "python", _EXIT.format("if kind is not None: return False\n            return True")),
    good(_SWALLOWED, "python", _EXIT.format("return kind is not None and issubclass(kind, Gone)")),
    good(_SWALLOWED, "python", _EXIT.format("return True").replace("class Unit", "class Suppressed")),
    bad(_ROWS, "rust", _STREAM.format(".filter_map(|row| future::ready(row.ok()))"), 3),
    bad(_ROWS, "rust", _STREAM.format(".filter_map(|row| async move { row.ok() })"), 3),
    good(_ROWS, "rust", _STREAM.format(".try_filter(|row| future::ready(row.a > 0))")),
    bad(_OUTCOME, "rust", _FIELD.format("drop(out)"), 8),
    good(_OUTCOME, "rust", _FIELD.format("out.into_inner()?.sync_all()?")),
    bad(_LOST, "java", _RUNNER.format("return Optional.empty();"), 8),
    good(_LOST, "java", _RUNNER.format("throw new ImportFailed(e);")),
    good(_LOST, "java", _RUNNER.format('log.warn("skipped", e); return Optional.empty();')),
    bad(
        _LOST,
        "python",
        """
        def attempt(fn):
            try:
                return fn()
            except Exception:
                return None
        def store(repo, rows):
            return [attempt(lambda: repo.insert(row)) for row in rows]
        """,
        4,
    ),
    bad(
        _LOGGED,
        "python",
        """
        import redis
        def connect(url: str):
            log.info("connecting to %s", url)
            return redis.Redis.from_url(url)
        """,
        3,
    ),
    good(
        _LOGGED,
        "python",
        """
        import redis
        def connect(url: str, page_url: str):
            log.info("connecting for %s", page_url)
            return redis.Redis.from_url(url)
        """,
    ),
]
