"""Failures that a cache keeps, or that count as an empty answer."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CACHED = "failed-result-cached"
_TAKEN = "failure-taken-for-data"

CASES = [
    bad(
        _CACHED,
        "typescript",
        """
        let shared: Promise<Db> | undefined;
        export function db(): Promise<Db> {
          shared ??= MongoClient.connect(url).then((client) => client.db('shop'));
          return shared;
        }
        export class Config {
          private loaded?: Promise<Values>;
          get() {
            if (!this.loaded) {
              this.loaded = this.load();
            }
            return this.loaded;
          }
          private async load() {
            return parse(await fetch(this.url));
          }
        }
        """,
        3,
        10,
    ),
    good(
        _CACHED,
        "typescript",
        """
        const running = new Map<string, Promise<User>>();
        export class Users {
          private last?: User;
          async get(id: string) {
            if (!this.last) {
              this.last = await this.load(id);
            }
            return this.last;
          }
          one(id: string) {
            if (!running.has(id)) {
              running.set(id, this.load(id).finally(() => running.delete(id)));
            }
            return running.get(id);
          }
          private async load(id: string) {
            return parse(await fetch(id));
          }
        }
        """,
    ),
    bad(
        _CACHED,
        "csharp",
        """
        class Directory {
            private readonly ConcurrentDictionary<string, Task<Tenant>> _tenants = new();
            private readonly Lazy<Task<Rates>> _rates;
            public Directory() { _rates = new Lazy<Task<Rates>>(LoadAsync); }
            public Task<Tenant> Get(string id) => _tenants.GetOrAdd(id, key => _api.FetchAsync(key));
        }
        """,
        4,
        5,
    ),
    good(
        _CACHED,
        "csharp",
        """
        class Directory {
            private readonly ConcurrentDictionary<string, Tenant> _tenants = new();
            private readonly Lazy<Regex> _pattern = new Lazy<Regex>(() => new Regex("a"));
            public Tenant Get(string id) => _tenants.GetOrAdd(id, key => new Tenant(key));
        }
        """,
    ),
    bad(
        _CACHED,
        "java",
        """
        class Geocodes {
            private final ConcurrentMap<String, CompletableFuture<Point>> cache = new ConcurrentHashMap<>();
            CompletableFuture<Point> locate(String address) {
                return cache.computeIfAbsent(address, client::geocodeAsync);
            }
        }
        """,
        4,
    ),
    good(
        _CACHED,
        "java",
        """
        class Geocodes {
            private final ConcurrentMap<String, CompletableFuture<Point>> cache = new ConcurrentHashMap<>();
            CompletableFuture<Point> locate(String address) {
                return cache.computeIfAbsent(address, each -> client.geocodeAsync(each)
                    .whenComplete((point, error) -> { if (error != null) cache.remove(each); }));
            }
        }
        """,
    ),
    bad(
        _CACHED,
        "kotlin",
        """
        class Prices(private val scope: CoroutineScope, private val api: PriceApi) {
            private val prices = ConcurrentHashMap<String, Deferred<Price>>()
            suspend fun get(id: String) = prices.computeIfAbsent(id) { scope.async { api.fetch(it) } }.await()
        }
        """,
        3,
    ),
    bad(
        _CACHED,
        "python",
        """
        import asyncio
        import requests
        from functools import lru_cache
        class Tokens:
            async def token(self, tenant):
                if tenant not in self._tasks:
                    self._tasks[tenant] = asyncio.create_task(self._fetch(tenant))
                return await self._tasks[tenant]
        @lru_cache(maxsize=100)
        def name(vat):
            try:
                return requests.get(url(vat), timeout=3).json()["name"]
            except requests.RequestException:
                return None
        @lru_cache(maxsize=100)
        async def rate(currency):
            return await load(currency)
        """,
        7,
        14,
        15,
    ),
    good(
        _CACHED,
        "python",
        """
        import asyncio
        from functools import lru_cache
        class Tokens:
            async def token(self, tenant):
                if tenant not in self._tasks:
                    task = self._tasks[tenant] = asyncio.create_task(self._fetch(tenant))
                    task.add_done_callback(lambda done: self._tasks.pop(tenant, None))
                return await self._tasks[tenant]
        @lru_cache(maxsize=100)
        def number(text):
            try:
                return int(text)
            except ValueError:
                return None
        """,
    ),
    bad(
        _CACHED,
        "go",
        """
        package flags
        func (l *Loader) Get(ctx context.Context) (map[string]bool, error) {
        	l.once.Do(func() {
        		l.flags, l.err = l.api.Fetch(ctx)
        	})
        	return l.flags, l.err
        }
        """,
        3,
    ),
    good(
        _CACHED,
        "go",
        """
        package flags
        func (l *Loader) Get(ctx context.Context) (*regexp.Regexp, error) {
        	l.once.Do(func() {
        		l.pattern, l.err = regexp.Compile(l.text)
        	})
        	return l.pattern, l.err
        }
        """,
    ),
    bad(
        _CACHED,
        "rust",
        """
        static SCHEMA: OnceLock<Result<Schema, String>> = OnceLock::new();
        pub fn schema(url: &str) -> &'static Result<Schema, String> {
            SCHEMA.get_or_init(|| fetch(url).map_err(|error| error.to_string()))
        }
        """,
        3,
    ),
    bad(
        _CACHED,
        "javascript",
        """
        async function lookup(domain, whois) {
          let record = null;
          try {
            record = await whois.query(domain);
          } catch (err) {
            console.warn(err);
          }
          cache.set(domain, record);
          return record;
        }
        """,
        8,
    ),
    good(
        _CACHED,
        "javascript",
        """
        async function lookup(domain, whois) {
          let record = null;
          try {
            record = await whois.query(domain);
          } catch (err) {
            console.warn(err);
          }
          if (record) cache.set(domain, record);
          return record;
        }
        """,
    ),
    bad(
        _TAKEN,
        "python",
        """
        class Sync:
            def run(self):
                try:
                    offers = self.supplier.list_offers()
                except Exception:
                    log.exception("supplier")
                    offers = []
                for product in self.repo.all_active():
                    if product.sku not in offers:
                        self.repo.deactivate(product.id)
        """,
        7,
    ),
    good(
        _TAKEN,
        "python",
        """
        class Sync:
            def run(self):
                try:
                    offers = self.supplier.list_offers()
                except Exception:
                    log.exception("supplier")
                    return
                for product in self.repo.all_active():
                    if product.sku not in offers:
                        self.repo.deactivate(product.id)
            def tags(self, item):
                try:
                    return self.api.tags(item)
                except Exception:
                    return []
            def show(self, item):
                return {"tags": self.tags(item)}
            def settings(self):
                try:
                    return self.store.load()
                except FileNotFoundError:
                    return {}
            def forget(self, name):
                known = self.settings()
                self.store.delete(known[name])
        """,
    ),
    bad(
        _TAKEN,
        "java",
        """
        class Decision {
            private final DebtClient registry;
            private final LoanRepository loans;
            boolean decide(Application application) {
                if (debts(application.person()) == 0) {
                    loans.save(new Loan(application));
                    return true;
                }
                return false;
            }
            private int debts(String person) {
                try {
                    return registry.query(person).size();
                } catch (Exception e) {
                    log.warn("registry", e);
                    return 0;
                }
            }
        }
        """,
        16,
    ),
    bad(
        _TAKEN,
        "csharp",
        """
        class Policy {
            private readonly IPermissions _permissions;
            public async Task<bool> IsAllowedAsync(string user) {
                try {
                    return await _permissions.CheckAsync(user);
                }
                catch (Exception error) {
                    _log.LogWarning(error, "down");
                    return true;
                }
            }
        }
        """,
        9,
    ),
    good(
        _TAKEN,
        "csharp",
        """
        class Policy {
            private readonly IPermissions _permissions;
            public async Task<bool> IsAllowedAsync(string user) {
                try {
                    return await _permissions.CheckAsync(user);
                }
                catch (Exception error) {
                    _log.LogWarning(error, "down");
                    return false;
                }
            }
        }
        """,
    ),
    bad(
        _TAKEN,
        "kotlin",
        """
        class Seats(private val billing: BillingClient, private val seats: SeatRepository) {
            private fun paid(org: Long): List<Seat> =
                try {
                    billing.seats(org)
                } catch (e: Exception) {
                    log.warn("billing", e)
                    emptyList()
                }
            fun sync(org: Long) {
                val paid = paid(org)
                seats.findByOrg(org).filter { it !in paid }.forEach { seats.delete(it) }
            }
        }
        """,
        7,
    ),
    bad(
        _TAKEN,
        "go",
        """
        package sanctions
        func (c *Checker) matches(ctx context.Context, name string) []Match {
        	found, err := c.api.Search(ctx, name)
        	if err != nil {
        		log.Printf("search: %v", err)
        		return nil
        	}
        	return found
        }
        func (c *Checker) Approve(ctx context.Context, p Payment) error {
        	if len(c.matches(ctx, p.Payee)) > 0 {
        		return ErrBlocked
        	}
        	return c.api.Release(ctx, p.ID)
        }
        """,
        6,
    ),
    bad(
        _TAKEN,
        "rust",
        """
        pub async fn prune(client: &Client, store: &Store) -> anyhow::Result<()> {
            let live: Vec<String> = fetch_live(client).await.unwrap_or_default();
            for device in store.all().await? {
                if !live.contains(&device.id) {
                    store.delete(&device.id).await?;
                }
            }
            Ok(())
        }
        """,
        2,
    ),
]
