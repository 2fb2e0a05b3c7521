"""State of requests in objects that all requests share."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

SHARED = "shared-mutable-state"
REQUEST = "request-state-shared"

CASES = [
    bad(SHARED, "csharp", """
        class Counter
        {
            private readonly Dictionary<string, int> _seen = new();
            public void Count(string key) { _seen[key] = 1; }
        }
        class CountingMiddleware(RequestDelegate next, Counter counter)
        {
            public Task InvokeAsync(HttpContext context) { counter.Count("a"); return next(context); }
        }
        """, 4),
    bad(SHARED, "csharp", """
        class Counter
        {
            private readonly Dictionary<string, int> _seen = new();
            public void Count(string key) { _seen[key] = 1; }
        }
        static class Setup
        {
            static void Add(IServiceCollection services) { services.AddSingleton<ICounter, Counter>(); }
        }
        """, 4),
    good(SHARED, "csharp", """
        class Counter
        {
            private readonly Dictionary<string, int> _seen = new();
            public void Count(string key) { _seen[key] = 1; }
        }
        static class Setup
        {
            static void Add(IServiceCollection services) { services.AddScoped<Counter>(); }
        }
        """),
    good(SHARED, "csharp", """
        class Counter
        {
            private readonly ConcurrentDictionary<string, int> _seen = new();
            public void Count(string key) { _seen[key] = 1; }
        }
        static class Setup
        {
            static void Add(IServiceCollection services) { services.AddSingleton<Counter>(); }
        }
        """),
    bad(SHARED, "python", """
        from flask import Flask, request
        app = Flask(__name__)
        hits = {}
        def count(path):
            hits[path] = hits.get(path, 0) + 1
        @app.before_request
        def before():
            count(request.path)
        """, 5),
    bad(REQUEST, "typescript", """
        @Injectable()
        export class Documents {
          private user!: User;
          constructor(private readonly repo: Repo) {}
          async open(user: User, id: string): Promise<Doc> {
            this.user = user;
            const doc = await this.repo.find(id);
            await this.check(doc);
            return doc;
          }
          private async check(doc: Doc): Promise<void> {
            if (this.user.id !== doc.owner) throw new Error("no");
          }
        }
        """, 6),
    good(REQUEST, "typescript", """
        @Injectable({ scope: Scope.REQUEST })
        export class Documents {
          private user!: User;
          async open(user: User, id: string): Promise<void> {
            this.user = user;
            await this.check(id);
          }
          private async check(id: string): Promise<void> {
            await this.repo.allow(this.user.id, id);
          }
        }
        """),
    good(REQUEST, "typescript", """
        @Injectable()
        export class Client {
          private options: Options = {};
          configure(options: Options): void {
            this.options = options;
            this.apply();
          }
          private apply(): void {
            this.http.use(this.options);
          }
        }
        """),
    good(REQUEST, "typescript", """
        export class Session {
          private user!: User;
          async open(user: User): Promise<void> {
            this.user = user;
            await this.check();
          }
          private async check(): Promise<void> {
            await allow(this.user.id);
          }
        }
        """),
    bad(REQUEST, "csharp", """
        class Reports
        {
            private User? _user;
            public async Task<Report> CreateAsync(string userId)
            {
                _user = await _users.FindAsync(userId);
                return Build(await _reports.LoadAsync());
            }
            private Report Build(Data data) => new(_user!.Name, data);
        }
        static class Setup
        {
            static void Add(IServiceCollection services) => services.AddSingleton<Reports>();
        }
        """, 6),
    bad(REQUEST, "python", """
        from flask import Flask, request
        class Documents:
            def __init__(self):
                self.user = None
            def authenticate(self, token):
                self.user = find(token)
            def list(self):
                return documents_of(self.user.id)
        app = Flask(__name__)
        documents = Documents()
        @app.get("/documents")
        def index():
            documents.authenticate(request.headers["Authorization"])
            return documents.list()
        """, 6),
]  # fmt: skip
