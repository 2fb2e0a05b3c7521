"""Resolvers that answer with nothing, streams and tasks whose end is taken for success, requests in logs of Go."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_EMPTY, _SUCCESS, _TASKS, _LOG = (
    "failure-looks-empty",
    "error-answered-as-success",
    "task-results-dropped",
    "secret-in-log",
)
_RESOLVER = """
    @Controller
    class ShelfResolver {{
        @{}
        public List<Shelf> shelves(@Argument String branch) {{
            try {{
                return shelves.findByBranch(branch);
            }} catch (DataAccessException e) {{
                log.error("not readable", e);
                {};
            }}
        }}
    }}
    """
_EVENTS = """
    app.get('/export', (req, res) => {{
      const rows = db.stream('select * from ledger');
      rows.on('data', (row) => res.write(toLine(row)));
      rows.on('end', () => res.end());
      rows.on('error', (err) => {{ logger.error({{ err }}, 'failed'); {}; }});
    }});
    """
_WAIT = """
    import asyncio
    async def sync(items, client):
        tasks = [asyncio.create_task(client.push(each)) for each in items]
        done, pending = await asyncio.wait(tasks, timeout=10)
        for each in pending:
            each.cancel()
        {}
    """
_REQUEST = """
    package a
    import "net/http"
    func (c *C) rates(ctx context.Context) error {{
    	req, err := http.NewRequestWithContext(ctx, "GET", c.base, nil)
    	req.Header.Set("Authorization", "Bearer "+c.token)
    	_, err = c.http.Do(req)
    	slog.Error("failed", "request", {}, "err", err)
    	return err
    }}
    """

CASES: list[Case] = [
    bad(_EMPTY, "java", _RESOLVER.format("QueryMapping", "return List.of()"), 7),
    good(_EMPTY, "java", _RESOLVER.format("QueryMapping", "throw new Unavailable(e)")),
    good(_EMPTY, "java", _RESOLVER.format("Scheduled", "return List.of()")),
    bad(
        _EMPTY,
        "typescript",
        """
        import { ApolloServer } from '@apollo/server';
        const resolvers = {
          Query: {
            loans: async (_: unknown, { card }: Args, { api, log }: Ctx) => {
              try {
                return await api.loans(card);
              } catch (err) {
                log.error({ err }, 'failed');
                return [];
              }
            },
          },
        };
        """,
        7,
    ),
    bad(_SUCCESS, "javascript", _EVENTS.format("res.end()"), 5),
    good(_SUCCESS, "javascript", _EVENTS.format("res.destroy(err)")),
    bad(_TASKS, "python", _WAIT.format("return len(done)"), 4),
    good(_TASKS, "python", _WAIT.format("return [each.result() for each in done]")),
    bad(_LOG, "go", _REQUEST.format("req"), 7),
    good(_LOG, "go", _REQUEST.format("req.URL.Path")),
    bad(
        _EMPTY,
        "kotlin",
        """
        @RestController
        class Slots(private val slots: SlotRepository) {
            @GetMapping("/slots/{court}")
            fun taken(@PathVariable court: String): List<Slot> =
                runCatching { slots.findTaken(court) }
                    .onFailure { log.error("failed", it) }
                    .getOrDefault(emptyList())
        }
        """,
        5,
    ),
    bad(
        _LOG,
        "python",
        """
        class Applicant(BaseModel):
            name: str
            ssn: str
        def screen(client, applicant: Applicant):
            payload = applicant.model_dump()
            log.warning("failed: %s", payload)
        """,
        6,
    ),
    bad(
        _LOG,
        "go",
        """
        package a
        import "google.golang.org/grpc"
        func log(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
        	resp, err := handler(ctx, req)
        	slog.Error("failed", "method", info.FullMethod, "req", req, "err", err)
        	return resp, err
        }
        """,
        5,
    ),
    bad(
        _LOG,
        "typescript",
        """
        app.setErrorHandler((error, request, reply) => {
          request.log.error({ error, body: request.body }, 'failed');
          reply.code(500).send({ error: 'internal' });
        });
        """,
        2,
    ),
    bad(
        _LOG,
        "java",
        """
        class Timing {
            Object around(ProceedingJoinPoint pjp) throws Throwable {
                log.info("{}({})", pjp.getSignature().getName(), Arrays.toString(pjp.getArgs()));
                return pjp.proceed();
            }
        }
        """,
        3,
    ),
]
