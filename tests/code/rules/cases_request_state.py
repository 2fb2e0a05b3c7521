"""What belongs to one request and is kept where all see it, and handlers that panic."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "request-state-shared"

CASES = [
    bad(
        _RULE,
        "javascript",
        """
        let tenant;

        app.use((req, res, next) => {
          tenant = req.get('x-tenant');
          next();
        });

        app.get('/rows', (req, res) => res.json(rows.of(tenant)));
        """,
        4,
    ),
    good(
        _RULE,
        "javascript",
        """
        let requests = 0;
        let users = null;

        app.use((req, res, next) => {
          requests = requests + 1;
          const tenant = req.get('x-tenant');
          users = users ?? loadUsers();
          next();
        });

        app.get('/rows', (req, res) => res.json([requests, users]));
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        from flask import Flask, request

        app = Flask(__name__)
        current_user = None

        @app.before_request
        def load():
            global current_user
            current_user = users.by_token(request.headers["Authorization"])

        @app.get("/me")
        def me():
            return current_user.name
        """,
        9,
    ),
    good(
        _RULE,
        "python",
        """
        from flask import Flask, g, request

        app = Flask(__name__)
        current_user = None

        @app.before_request
        def load():
            g.user = users.by_token(request.headers["Authorization"])
            current_user = g.user

        @app.get("/me")
        def me():
            return current_user
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        @RestController
        class Quotes {
            private String tenant;

            @GetMapping("/quotes")
            public Quote get(@RequestHeader("X-Tenant") String header) {
                tenant = header;
                return find();
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "java",
        """
        @RestController
        class Quotes {
            private final Service service;
            private String region;

            Quotes(Service service, String region) {
                this.service = service;
                this.region = region;
            }

            @GetMapping("/quotes")
            public Quote get(@RequestHeader("X-Tenant") String header) {
                String tenant = header;
                return service.find(tenant);
            }
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        public class TenantMiddleware
        {
            private string _tenant;

            public async Task InvokeAsync(HttpContext context)
            {
                _tenant = context.Request.Headers["X-Tenant"];
                await _next(context);
            }
        }
        """,
        7,
    ),
    bad(
        "panic-on-failure",
        "rust",
        """
        use axum::{extract::State, Json};

        async fn stock(State(app): State<App>) -> Json<Stock> {
            let answer = app.http.get(app.url.clone()).send().await.unwrap();
            Json(answer.json::<Stock>().await.unwrap())
        }
        """,
        4,
        5,
    ),
    good(
        "panic-on-failure",
        "rust",
        """
        use axum::{extract::State, Json};

        async fn stock(State(app): State<App>) -> Result<Json<Stock>, Failed> {
            let seen = app.seen.lock().await;
            let permit = app.slots.acquire().await.unwrap();
            let answer = app.http.get(app.url.clone()).send().await?;
            Ok(Json(answer.json::<Stock>().await?))
        }
        """,
    ),
    bad(
        "shared-mutable-state",
        "kotlin",
        """
        import io.ktor.server.websocket.DefaultWebSocketServerSession

        class Room {
            private val members = mutableSetOf<DefaultWebSocketServerSession>()

            suspend fun join(session: DefaultWebSocketServerSession) {
                members.add(session)
            }
        }
        """,
        7,
    ),
]
