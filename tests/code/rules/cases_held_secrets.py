"""Forms, answers, headers and settings that are logged whole and hold a secret among other parts."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LOG = "secret-in-log"
_ANSWER = """
    import logging
    log = logging.getLogger(__name__)
    class Auth:
        def renew(self):
            answer = self.http.post("/token", timeout=5)
            answer.raise_for_status()
            log.info("renewed %s", answer.{})
            return answer.json()["access_token"]
    """
_FORM = """
    class C {{ async Task Ask() {{
      var form = new Dictionary<string, string> {{ ["user"] = user, ["client_secret"] = key }};
      _logger.LogError("failed {{Form}}", {});
    }} }}
    """
_DUMP = """
    package a
    import ("log"; "net/http"; "net/http/httputil")
    func send(r *http.Request) {{
    	raw, _ := httputil.DumpRequestOut(r, true)
    	log.Printf("sent {}", {})
    }}
    """
_LEVEL = """
    import okhttp3.logging.HttpLoggingInterceptor
    fun client(key: String) = OkHttpClient.Builder()
        .addInterceptor(HttpLoggingInterceptor().setLevel(HttpLoggingInterceptor.Level.{}))
        .build()
    """

CASES = [
    bad(_LOG, "python", _ANSWER.format("text"), 7),
    good(_LOG, "python", _ANSWER.format("status_code")),
    good(
        _LOG,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)
        def renew(http):
            answer = http.post("/token", timeout=5)
            if answer.status_code != 200:
                log.error("refused: %s", answer.text)
                raise Refused()
            return answer.json()["access_token"]
        """,
    ),
    bad(
        _LOG,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)
        async def enter(request):
            given = await request.json()
            log.info("asked %s", given)
            return await check(given["name"], given["password"])
        """,
        5,
    ),
    good(
        _LOG,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)
        async def enter(request):
            given = await request.json()
            log.info("asked %s", given["name"])
            return await check(given["name"], given["password"])
        """,
    ),
    bad(_LOG, "csharp", _FORM.format("JsonSerializer.Serialize(form)"), 3),
    good(_LOG, "csharp", _FORM.format("form.Count")),
    good(_LOG, "csharp", _FORM.format("Redact(form)")),
    bad(_LOG, "go", _DUMP.format("%s", "raw"), 5),
    good(_LOG, "go", _DUMP.format("%d", "len(raw)")),
    good(
        _LOG,
        "go",
        """
        package a
        import ("encoding/json"; "fmt"; "os")
        type login struct {
        	Name string
        	Password string
        }
        func read(path string) error {
        	var known login
        	raw, err := os.ReadFile(path)
        	if err != nil {
        		return err
        	}
        	err = json.Unmarshal(raw, &known)
        	return fmt.Errorf("not read: %w", err)
        }
        """,
    ),
    bad(_LOG, "kotlin", _LEVEL.format("BODY"), 3),
    good(_LOG, "kotlin", _LEVEL.format("BASIC")),
    good(_LOG, "kotlin", _LEVEL.format("BODY").replace(".build()", '.apply { redactHeader("A") }.build()')),
    bad(
        _LOG,
        "javascript",
        "client.interceptors.request.use((config) => { logger.info({ url: config.url, headers: config.headers }); return config; });",
        1,
    ),
    good(
        _LOG,
        "javascript",
        "client.interceptors.request.use((config) => { logger.info({ url: config.url }, config.headers.Accept); return config; });",
    ),
    bad(
        _LOG,
        "java",
        """
        class F { void run(Req request) {
          Map<String, String> headers = new HashMap<>();
          for (String name : Collections.list(request.getHeaderNames())) headers.put(name, request.getHeader(name));
          log.info("{}", headers);
        } }
        """,
        4,
    ),
    good(
        _LOG,
        "java",
        """
        class F { void run(Req request) {
          Map<String, String> headers = new HashMap<>();
          for (String name : KEPT) headers.put(name, request.getHeader(name));
          log.info("{}", headers);
        } }
        """,
    ),
    bad(
        _LOG,
        "rust",
        'async fn seen(request: Request) { tracing::info!(path = request.uri().path(), headers = ?request.headers(), "seen"); }',
        1,
    ),
    good(
        _LOG,
        "rust",
        'async fn seen(request: Request) { tracing::info!(path = request.uri().path(), "seen"); }',
    ),
]
