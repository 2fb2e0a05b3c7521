"""Secrets that a function of the same text, a schema or a type argument brings into a log."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_RULE = "secret-in-log"
_DESCRIBE = """
    class Trace : DelegatingHandler {{
        protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken ct) {{
            var response = await base.SendAsync(request, ct);
            _logger.LogWarning("sent {{Headers}}", Describe(request));
            return response;
        }}
        private static string Describe(HttpRequestMessage request)
            => string.Join("; ", request.Headers{}.Select(h => $"{{h.Key}}={{string.Join(',', h.Value)}}"));
    }}
    """
_DUMP = """
    package a
    import (
    	"log/slog"
    	"net/http"
    	"net/http/httputil"
    )
    func (t *T) RoundTrip(req *http.Request) (*http.Response, error) {{
    	out := req.Clone(req.Context())
    	out.Header.Set("Authorization", "Bearer "+t.token)
    	resp, err := t.next.RoundTrip(out)
    	{}
    	head, _ := httputil.DumpRequest(shown, false)
    	slog.Warn("refused", "request", string(head))
    	return resp, err
    }}
    """
_SCHEMA = """
    import {{ z }} from 'zod';
    const Registration = z.object({{ branch: z.string(), pin: z.string().regex(/^\\d{{6}}$/) }});
    type Patron = z.infer<typeof Registration>;
    export async function POST(req: Request) {{
      const parsed = Registration.safeParse(await req.json());
      log.error({{ patron: {} }}, 'refused');
    }}
    export function show(patron: Patron) {{ log.info({}); }}
    """
_FEIGN = """
    import feign.Response;
    class Errors implements feign.codec.ErrorDecoder {{
        public Exception decode(String key, Response response) {{
            log.warn("{{}} to {{}}", response.status(), {});
            return new ScoringException(key, "Authorization refused");
        }}
    }}
    """
_RESTY = """
    package a
    import (
    	"log/slog"
    	"github.com/go-resty/resty/v2"
    )
    func (g *G) find(q string) error {{
    	_, err := g.rc.R().SetQueryParams(map[string]string{{"q": q, "{}": g.key}}).Get("/v1")
    	if err != nil {{
    		slog.Warn("failed", "err", err)
    		return ErrDown
    	}}
    	return nil
    }}
    """
_TRACED = """
    import functools, logging
    log = logging.getLogger(__name__)
    def traced(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            try:
                return fn(*args, **kwargs)
            except Exception:
                log.exception("%s failed with %r", fn.__name__, {})
                raise
        return inner
    class Terminal:
        @traced
        def charge(self, pan: str, cvc: str): ...
    """
_KTOR = """
    data class Card(val number: String, val cvc: String)
    data class Sale(val id: String, val card: Card)
    fun Route.sales(desk: Desk) = post("/sales") {{
        val sale = try {{ call.receive<Sale>() }} catch (e: BadRequestException) {{ return@post }}
        log.warn("declined {{}}", {})
    }}
    """

CASES: list[Case] = [
    bad(_RULE, "csharp", _DESCRIBE.format(""), 4),
    good(_RULE, "csharp", _DESCRIBE.format(".Where(h => Loggable.Contains(h.Key))")),
    bad(_RULE, "go", _DUMP.format("shown := out"), 13),
    good(_RULE, "go", _DUMP.format('shown := out.Clone(ctx); shown.Header = http.Header{"A": nil}')),
    bad(_RULE, "typescript", _SCHEMA.format("parsed.data", "patron"), 6, 8),
    good(_RULE, "typescript", _SCHEMA.format("parsed.data.branch", "patron.branch")),
    bad(_RULE, "java", _FEIGN.format("response.request()"), 4),
    good(_RULE, "java", _FEIGN.format("response.request().httpMethod()")),
    bad(_RULE, "go", _RESTY.format("key"), 9),
    good(_RULE, "go", _RESTY.format("layer")),
    bad(_RULE, "python", _TRACED.format("args"), 9),
    good(_RULE, "python", _TRACED.format("len(args)")),
    bad(_RULE, "kotlin", _KTOR.format("sale"), 5),
    good(_RULE, "kotlin", _KTOR.format("sale.id")),
    bad(
        _RULE,
        "javascript",
        """
        import got from 'got';
        function describe(error) {
          const { code, options } = error;
          return { code, request: { headers: options?.headers } };
        }
        export async function screen(client, applicant) {
          try {
            return await client.post('v1', { json: applicant }).json();
          } catch (error) {
            log.error(describe(error), 'failed');
            throw error;
          }
        }
        """,
        10,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import (
        	"log/slog"
        	"net/http"
        )
        func attrs(r *http.Request) []any { return []any{"path", r.URL.Path, "headers", r.Header} }
        func trace(next http.Handler) http.Handler {
        	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        		next.ServeHTTP(w, r)
        		slog.Info("served", attrs(r)...)
        	})
        }
        """,
        10,
    ),
    bad(
        _RULE,
        "python",
        """
        def _context(request):
            return {"path": request.path, "headers": dict(request.headers)}
        def _short(request):
            return {"path": request.path, "agent": request.headers.get("User-Agent")}
        def served(request):
            context = _context(request)
            log.info("served %s", context)
            log.info("served %s", _short(request))
        """,
        7,
    ),
    bad(
        _RULE,
        "rust",
        """
        #[tracing::instrument(skip(self), err)]
        pub async fn login(&self, card: i64, pin: String) -> Result<(), E> { Ok(()) }
        fn describe(req: &Request<Body>) -> String { format!("{} {:?}", req.method(), req.headers()) }
        async fn trace(req: Request<Body>, next: Next) -> Response {
            tracing::info!("in {}", describe(&req));
            next.run(req).await
        }
        """,
        1,
        5,
    ),
    good(
        _RULE,
        "rust",
        """
        #[tracing::instrument(skip_all, fields(card), err)]
        pub async fn login(&self, card: i64, pin: String) -> Result<(), E> { Ok(()) }
        fn describe(req: &Request<Body>) -> String { format!("{} {}", req.method(), req.uri().path()) }
        async fn trace(req: Request<Body>, next: Next) -> Response {
            tracing::info!("in {}", describe(&req));
            next.run(req).await
        }
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        class A {
            String headersOf(HttpServletRequest r) {
                return list(r.getHeaderNames()).stream().map(n -> n + "=" + r.getHeader(n)).collect(joining());
            }
            void served(HttpServletRequest r) { log.info("served {}", headersOf(r)); }
        }
        """,
        5,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        import io.ktor.client.HttpClient
        class Geo(private val http: HttpClient, private val apiKey: String) {
            suspend fun find(q: String): String = try {
                http.get("https://geo/v1") { parameter("key", apiKey) }.bodyAsText()
            } catch (e: IOException) {
                log.warn("failed", e)
                throw e
            }
        }
        """,
        6,
    ),
]
