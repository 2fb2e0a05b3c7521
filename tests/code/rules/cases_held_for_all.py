"""Locks that are held for one item, key or client while all others wait, and those held for one load."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "lock-held-over-io"
_AWAIT = "lock-held-across-await"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import asyncio
        import httpx

        class Rates:
            def __init__(self):
                self._lock = asyncio.Lock()
                self._rates = {}
                self.http = httpx.AsyncClient(timeout=5)

            async def rate(self, code):
                if code in self._rates:
                    return self._rates[code]
                async with self._lock:
                    if code in self._rates:
                        return self._rates[code]
                    answer = await self.http.get(f"https://rates/{code}")
                    self._rates[code] = answer.json()
                    return self._rates[code]

            async def publish(self, text):
                async with self._lock:
                    for socket in list(self._rates):
                        await self._send(socket, text)

            async def drop(self, code):
                async with self._lock:
                    self._rates.pop(code)
        """,
        16,
        22,
    ),
    good(
        _RULE,
        "python",
        """
        import asyncio
        import httpx

        class Tokens:
            def __init__(self):
                self._lock = asyncio.Lock()
                self._token = None
                self.http = httpx.AsyncClient(timeout=5)

            async def token(self):
                async with self._lock:
                    if self._token is None:
                        answer = await self.http.post("https://id/token")
                        self._token = answer.json()["token"]
                    return self._token
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        public sealed class Steps
        {
            private static readonly object Gate = new();
            private readonly SemaphoreSlim _gate = new(1, 1);
            private readonly HttpClient _http;
            private readonly IMemoryCache _cache;
            private List<Step> _pending = new();

            public async Task AddAsync(Step step)
            {
                await _gate.WaitAsync();
                try
                {
                    _pending.Add(step);
                    if (_pending.Count < 100) return;
                    await _http.PostAsJsonAsync("steps", _pending);
                }
                finally
                {
                    _gate.Release();
                }
            }

            public Licence Find(int tenant)
            {
                if (_cache.TryGetValue(tenant, out Licence known)) return known;
                lock (Gate)
                {
                    if (_cache.TryGetValue(tenant, out known)) return known;
                    using var command = new SqlCommand("SELECT 1", _connection);
                    return Read(command.ExecuteReader());
                }
            }
        }
        """,
        16,
        31,
    ),
    bad(
        _RULE,
        "go",
        """
        import ("encoding/json"; "net/http"; "sync")

        type Table struct {
            mu    sync.RWMutex
            rates map[string]int
            subs  map[string]*Conn
        }

        func (t *Table) Set(zone string, cents int) {
            t.mu.Lock()
            defer t.mu.Unlock()
            t.rates[zone] = cents
        }

        func (t *Table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            t.mu.RLock()
            defer t.mu.RUnlock()
            json.NewEncoder(w).Encode(t.rates)
        }

        func (t *Table) Publish(b []byte) {
            t.mu.Lock()
            defer t.mu.Unlock()
            for _, c := range t.subs {
                c.Send(b)
            }
        }
        """,
        18,
        24,
    ),
    good(
        _RULE,
        "go",
        """
        import ("encoding/json"; "maps"; "net/http"; "sync")

        func (t *Table) Set(zone string, cents int) {
            t.mu.Lock()
            defer t.mu.Unlock()
            t.rates[zone] = cents
        }

        func (t *Table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            t.mu.RLock()
            rates := maps.Clone(t.rates)
            t.mu.RUnlock()
            json.NewEncoder(w).Encode(rates)
        }
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        import java.util.concurrent.ConcurrentHashMap;

        class Rates {
            private final ConcurrentHashMap<String, Quote> quotes = new ConcurrentHashMap<>();
            private final List<Session> sessions = new ArrayList<>();
            private final RestTemplate http;

            Quote quote(String code) {
                return quotes.compute(code, (key, known) -> known != null ? known : load(key));
            }

            Quote other(String code) {
                return quotes.computeIfAbsent(code, this::load);
            }

            private Quote load(String code) {
                return http.getForObject("https://rates/" + code, Quote.class);
            }

            synchronized void join(Session session) {
                sessions.add(session);
            }

            synchronized void publish(String text) {
                for (Session session : sessions) {
                    session.getBasicRemote().sendText(text);
                }
            }
        }
        """,
        9,
        13,
        25,
    ),
    good(
        _RULE,
        "java",
        """
        import java.util.concurrent.ConcurrentHashMap;

        class Rates {
            private final ConcurrentHashMap<String, Quote> quotes = new ConcurrentHashMap<>();
            private final ObjectMapper json;
            private final RestTemplate http;

            Quote quote(String code) {
                Quote loaded = http.getForObject("https://rates/" + code, Quote.class);
                return quotes.merge(code, loaded, Rates::newer);
            }

            synchronized void save(Path file) throws IOException {
                byte[] content = json.writeValueAsBytes(quotes);
            }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        class Partner(private val web: WebClient) {
            private val mutex = Mutex()
            private var token = ""

            suspend fun announce(id: String) {
                withToken { bearer -> put(id, bearer) }
            }

            private suspend fun <T> withToken(call: suspend (String) -> T): T = mutex.withLock {
                if (token == "") renew()
                call(token)
            }

            private suspend fun put(id: String, bearer: String) {
                web.put().uri("/deliveries/{id}", id).retrieve().awaitBodilessEntity()
            }

            private suspend fun renew() {
                token = web.post().uri("/token").retrieve().awaitBody<String>()
            }
        }
        """,
        11,
    ),
    bad(
        _RULE,
        "typescript",
        """
        class Serial {
          private tail: Promise<unknown> = Promise.resolve();

          run<T>(work: () => Promise<T>): Promise<T> {
            const next = this.tail.then(work);
            this.tail = next.catch(() => undefined);
            return next;
          }
        }

        const turns = new Serial();

        export function ask(session: string): Promise<string> {
          return turns.run(async () => {
            const answer = await fetch(`https://model/${session}`);
            return answer.text();
          });
        }
        """,
        15,
    ),
    good(
        _RULE,
        "typescript",
        """
        class SerialByKey {
          private readonly tails = new Map<string, Promise<unknown>>();

          run<T>(key: string, work: () => Promise<T>): Promise<T> {
            const next = (this.tails.get(key) ?? Promise.resolve()).then(work);
            this.tails.set(key, next);
            return next;
          }
        }

        const turns = new SerialByKey();

        export function ask(session: string): Promise<string> {
          return turns.run(session, async () => {
            const answer = await fetch(`https://model/${session}`);
            return answer.text();
          });
        }
        """,
    ),
    bad(
        _AWAIT,
        "rust",
        """
        use dashmap::DashMap;

        struct Meter { sessions: DashMap<u32, Session>, tariff: Tariff }

        impl Meter {
            async fn reading(&self, charger: u32) -> Result<(), Error> {
                let mut session = self.sessions.get_mut(&charger).ok_or(Error::Gone)?;
                session.cost += self.tariff.price(charger).await?;
                Ok(())
            }

            async fn touch(&self, charger: u32) {
                if let Some(mut session) = self.sessions.get_mut(&charger) {
                    session.cost = self.tariff.price(charger).await;
                }
            }
        }
        """,
        7,
        13,
    ),
    good(
        _AWAIT,
        "rust",
        """
        use dashmap::DashMap;

        struct Meter { sessions: DashMap<u32, Session>, tariff: Tariff }

        impl Meter {
            async fn reading(&self, charger: u32) -> Result<(), Error> {
                let cost = self.tariff.price(charger).await?;
                let mut session = self.sessions.get_mut(&charger).ok_or(Error::Gone)?;
                session.cost += cost;
                Ok(())
            }

            async fn copy(&self, charger: u32) {
                let session = self.sessions.get(&charger).map(|each| each.clone());
                self.tariff.store(session).await;
            }
        }
        """,
    ),
    good(
        "lost-update",
        "typescript",
        """
        const cache = new LRUCache<string, Turn[]>({ max: 50 });

        class SerialByKey {
          private readonly tails = new Map<string, Promise<unknown>>();

          run<T>(key: string, work: () => Promise<T>): Promise<T> {
            const next = (this.tails.get(key) ?? Promise.resolve()).then(work);
            this.tails.set(key, next);
            return next;
          }
        }

        export function ask(id: string) {
          return new SerialByKey().run(id, async () => {
            const n = cache.get(id);
            cache.set(id, n + 1);
          });
        }
        """,
    ),
    good(
        "unguarded-access",
        "csharp",
        """
        class Buffer
        {
            private readonly object _gate = new();
            private List<Step> _pending = new();

            void Add(Step step)
            {
                lock (_gate) { _pending.Add(step); }
            }

            public async ValueTask DisposeAsync()
            {
                if (_pending.Count > 0) await Flush(_pending);
            }
        }
        """,
    ),
]
