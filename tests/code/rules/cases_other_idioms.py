"""The same faults in other idioms: pauses after failures only, constants, chains, and helpers."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "busy-loop",
        "java",
        """
        class Relay implements Runnable {
            public void run() {
                while (!Thread.currentThread().isInterrupted()) {
                    once();
                }
            }
            private void once() {
                try {
                    List<Event> events = outbox.nextBatch(100);
                    for (Event event : events) { bus.publish(event); }
                } catch (RuntimeException e) {
                    Thread.sleep(5000);
                }
            }
        }
        """,
        3,
    ),
    bad(
        "busy-loop",
        "csharp",
        """
        class Exports {
            public async Task Wait(string id, CancellationToken ct) {
                var status = Status.Running;
                while (status == Status.Running) {
                    status = await _api.StatusAsync(id, ct);
                }
            }
        }
        """,
        4,
    ),
    bad(
        "busy-loop",
        "python",
        """
        def wait(client, job_id):
            while client.get_status(job_id) != "done":
                logger.info("waiting for %s", job_id)
        """,
        2,
    ),
    good(
        "busy-loop",
        "python",
        """
        def refresh(table, stop):
            while not stop.wait(timeout=30):
                rates = requests.get(url, timeout=3)
                table.update(rates.json())
        """,
    ),
    bad(
        "http-call-without-timeout",
        "java",
        """
        import java.net.http.*;
        class Vat {
            private final HttpClient http = HttpClient.newHttpClient();
            String check(String number) throws Exception {
                HttpRequest request = HttpRequest.newBuilder(URI.create(base + number))
                    .GET()
                    .build();
                return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
            }
        }
        """,
        5,
    ),
    bad(
        "http-call-without-timeout",
        "typescript",
        """
        import axios from 'axios';
        class Quotes {
          private readonly http;
          constructor(baseURL: string) {
            this.http = axios.create({ baseURL });
          }
          async quote(id: string) {
            return this.http.get(`/quotes/${id}`);
          }
        }
        """,
        5,
    ),
    good(
        "socket-without-timeout",
        "csharp",
        """
        class Terminal {
            public async Task Send(byte[] data) {
                using var client = new TcpClient();
                using var limit = new CancellationTokenSource(Limit);
                await client.ConnectAsync(_host, _port, limit.Token);
            }
        }
        """,
    ),
    bad(
        "subprocess-without-timeout",
        "csharp",
        """
        class Backup {
            public async Task Dump() {
                using var process = Process.Start(start) ?? throw new InvalidOperationException("none");
                await process.WaitForExitAsync();
            }
        }
        """,
        4,
    ),
    bad(
        "whole-file-loaded",
        "javascript",
        """
        async function readBody(req) {
          const chunks = [];
          for await (const chunk of req) {
            chunks.push(chunk);
          }
          return Buffer.concat(chunks).toString();
        }
        """,
        3,
    ),
    good(
        "whole-file-loaded",
        "javascript",
        """
        async function readBody(req) {
          const chunks = [];
          let size = 0;
          for await (const chunk of req) {
            size += chunk.length;
            if (size > 1e6) throw new Error('too large');
            chunks.push(chunk);
          }
          return Buffer.concat(chunks).toString();
        }
        """,
    ),
    bad(
        "whole-file-loaded",
        "rust",
        """
        use tokio::net::TcpStream;
        pub async fn serve(stream: TcpStream) -> Result<()> {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            timeout(IDLE_LIMIT, reader.read_line(&mut line)).await??;
            run(line)
        }
        """,
        5,
    ),
    bad(
        "whole-file-loaded",
        "go",
        """
        package avatar
        import ("io"; "net/http")
        func (i *Importer) Import(ctx context.Context, source string) ([]byte, error) {
        	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
        	if err != nil {
        		return nil, err
        	}
        	resp, err := i.client.Do(req)
        	if err != nil {
        		return nil, err
        	}
        	defer resp.Body.Close()
        	return io.ReadAll(resp.Body)
        }
        """,
        13,
    ),
    bad(
        "missing-limit",
        "java",
        """
        import org.springframework.jdbc.core.JdbcTemplate;
        class Readings {
            private static final String HISTORY = "SELECT id FROM readings WHERE device = ? ORDER BY taken_at DESC";
            private final JdbcTemplate jdbc;
            public List<Reading> history(long device) {
                return jdbc.query(HISTORY, Readings::map, device);
            }
        }
        """,
        6,
    ),
    bad(
        "missing-limit",
        "kotlin",
        """
        interface CustomerRepository : JpaRepository<Customer, Long> {
            fun findByTenantIdOrderByNameAsc(tenantId: Long): List<Customer>
        }
        @RestController
        class CustomerController(private val customers: CustomerRepository) {
            @GetMapping("/customers")
            fun list(user: TenantUser): List<Customer> {
                val rows = customers.findByTenantIdOrderByNameAsc(user.tenantId)
                return rows.map(::view)
            }
        }
        """,
        8,
    ),
    bad(
        "missing-limit",
        "typescript",
        """
        import { Repository } from 'typeorm';
        class History {
          constructor(private readonly messages: Repository<Message>) {}
          async of(channelId: number): Promise<Message[]> {
            const rows = await this.messages.find({ where: { channelId }, order: { id: 'DESC' } });
            return rows.map(view);
          }
        }
        """,
        5,
    ),
    good(
        "missing-limit",
        "typescript",
        """
        import { Repository } from 'typeorm';
        class History {
          constructor(private readonly messages: Repository<Message>) {}
          async of(channelId: number): Promise<Message[]> {
            const rows = await this.messages.find({ where: { channelId }, order: { id: 'DESC' }, take: 50 });
            return rows.map(view);
          }
        }
        """,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
        package api
        import "net/http"
        func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
        	booking, err := h.seats.Reserve(r.Context())
        	switch {
        	case err != nil:
        		h.respond(w, http.StatusOK, map[string]string{"error": "reservation failed"})
        		return
        	}
        	h.respond(w, http.StatusCreated, booking)
        }
        """,
        7,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package store
        import ("database/sql"; "log/slog")
        func Open(cfg Config, log *slog.Logger) (*sql.DB, error) {
        	dsn := cfg.dsn()
        	log.Info("connecting to database", "dsn", dsn)
        	return sql.Open("pgx", dsn)
        }
        """,
        5,
    ),
    good(
        "secret-in-log",
        "python",
        """
        import logging
        logger = logging.getLogger(__name__)
        def connect(database_url):
            dsn = redact(database_url)
            logger.info("connecting to database %s", dsn)
        """,
    ),
    bad(
        "secret-in-log",
        "kotlin",
        """
        class Partner {
            private val log = LoggerFactory.getLogger(javaClass)
            fun push(request: Request) {
                log.info("request {} headers={}", request.url, request.headers.toMultimap())
            }
        }
        """,
        4,
    ),
    bad(
        "lock-held-over-io",
        "go",
        """
        package session
        import "github.com/redis/go-redis/v9"
        type Store struct {
        	mu  sync.Mutex
        	rdb *redis.Client
        }
        func (s *Store) Lookup(ctx context.Context, id string) ([]byte, error) {
        	s.mu.Lock()
        	defer s.mu.Unlock()
        	raw, err := s.rdb.Get(ctx, id).Bytes()
        	return raw, err
        }
        """,
        10,
    ),
    bad(
        "request-in-transaction",
        "kotlin",
        """
        import org.springframework.boot.web.client.RestTemplateBuilder
        class Loans(rest: RestTemplateBuilder) {
            private val bureau = rest.setReadTimeout(limit).build()
            fun decide(id: Long) = transaction(database) {
                val row = Applications.selectAll().where { Applications.id eq id }.single()
                score(row)
            }
            private fun score(person: String): Score? =
                bureau.getForObject("/scores/{person}", Score::class.java, person)
        }
        """,
        6,
    ),
    bad(
        "shared-mutable-state",
        "kotlin",
        """
        class Holds {
            private val holds = ConcurrentHashMap<String, Hold>()
            fun tryHold(seat: String, who: Long): Hold? {
                val existing = holds[seat]
                if (existing != null && existing.owner != who) {
                    return null
                }
                val wanted = Hold(who)
                holds[seat] = wanted
                return wanted
            }
        }
        """,
        4,
    ),
    bad(
        "cancellation-not-passed-on",
        "typescript",
        """
        async function one(index: string): Promise<Hit[]> {
          const response = await fetch(url(index), { signal: AbortSignal.timeout(8000) });
          return response.json();
        }
        async function all(signal: AbortSignal): Promise<Hit[][]> {
          signal.throwIfAborted();
          return Promise.all(INDEXES.map((index) => one(index)));
        }
        """,
        7,
    ),
    good(
        "cancellation-not-passed-on",
        "typescript",
        """
        async function one(index: string, signal: AbortSignal): Promise<Hit[]> {
          const response = await fetch(url(index), { signal });
          return response.json();
        }
        async function all(signal: AbortSignal): Promise<Hit[][]> {
          return Promise.all(INDEXES.map((index) => one(index, signal)));
        }
        """,
    ),
    bad(
        "task-left-running",
        "rust",
        """
        pub async fn serve(socket: WebSocket) {
            let (tx, mut rx) = mpsc::channel(8);
            tokio::spawn(async move {
                loop {
                    ticks.tick().await;
                    if let Err(err) = tx.try_send(Message::Ping) {
                        debug!(%err, "skipped");
                    }
                }
            });
            loop {
                tokio::select! {
                    Some(message) = rx.recv() => send(message).await,
                    else => break,
                }
            }
        }
        """,
        3,
    ),
    bad(
        "whole-file-loaded",
        "python",
        """
        import requests
        def fetch_avatar(url: str) -> bytes:
            response = requests.get(url, timeout=5)
            response.raise_for_status()
            return response.content
        """,
        3,
    ),
    good(
        "whole-file-loaded",
        "python",
        """
        import requests
        def fetch_report(self, report_id: str) -> bytes:
            response = requests.get(f"{self.base_url}/reports/{report_id}", timeout=5)
            return response.content
        """,
    ),
    bad(
        "whole-file-loaded",
        "csharp",
        """
        public class ImportController : ControllerBase {
            [HttpPost("import")]
            public async Task<IActionResult> Import() {
                using var reader = new StreamReader(Request.Body);
                var text = await reader.ReadToEndAsync();
                return Accepted(text);
            }
        }
        """,
        5,
    ),
    bad(
        "shared-mutable-state",
        "go",
        """
        package seats
        func (s *Seats) Book(seat string, who int64) bool {
        	s.mu.RLock()
        	_, taken := s.held[seat]
        	s.mu.RUnlock()
        	if taken {
        		return false
        	}
        	s.mu.Lock()
        	s.held[seat] = who
        	s.mu.Unlock()
        	return true
        }
        """,
        9,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
        package api
        import ("encoding/json"; "net/http")
        func (s *Server) Create(w http.ResponseWriter, r *http.Request) {
        	item, err := s.repo.Create(r.Context())
        	if err != nil {
        		writeJSON(w, map[string]any{"error": "could not create"})
        		return
        	}
        	writeJSON(w, item)
        }
        func writeJSON(w http.ResponseWriter, v any) {
        	json.NewEncoder(w).Encode(v)
        }
        """,
        6,
    ),
]
