"""Maps that outlive a call: caches that only grow, values that several callers load at once."""

# ruff: noqa: E101  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CACHE = "unbounded-cache"
_PY, _TS, _GO, _JAVA, _RUST, _CS, _KT = "python", "typescript", "go", "java", "rust", "csharp", "kotlin"

CASES = [
    bad(
        _CACHE,
        _PY,
        """
        import time
        _suggestions = {}

        def suggestions_for(prefix, locale):
            key = (prefix.lower(), locale)
            known = _suggestions.get(key)
            if known and time.monotonic() - known[0] < 300:
                return known[1]
            titles = query_index(prefix, locale)
            _suggestions[key] = (time.monotonic(), titles)
            return titles

        class ProfileService:
            def __init__(self, api):
                self.api = api
                self.profiles = {}

            def profile(self, user_id):
                if user_id not in self.profiles:
                    self.profiles[user_id] = self.api.load(user_id)
                return self.profiles[user_id]
        """,
        2,
        16,
    ),
    good(
        _CACHE,
        _PY,
        """
        from cachetools import TTLCache
        _suggestions = TTLCache(maxsize=1000, ttl=300)
        _codes = {"de": 1, "fr": 2}
        _loaders = {}

        def suggestions_for(prefix):
            if prefix in _suggestions:
                return _suggestions[prefix]
            _suggestions[prefix] = query_index(prefix)
            return _suggestions[prefix]

        def register(kind, loader):
            _loaders[kind] = loader

        class ProfileService:
            def __init__(self, api):
                self.api = api
                self.profiles = {}

            def profile(self, user_id):
                if user_id not in self.profiles:
                    if len(self.profiles) > 1000:
                        self.profiles.clear()
                    self.profiles[user_id] = self.api.load(user_id)
                return self.profiles[user_id]

        class Walk:
            def __init__(self):
                self.done = {}

            def visit(self, node_id):
                if node_id not in self.done:
                    self.done[node_id] = True
        """,
    ),
    bad(
        _CACHE,
        _TS,
        """
        @Injectable()
        export class Flags {
          private readonly evaluations = new Map<string, Evaluation>();
          forUser(user: UserContext) {
            const key = `${user.id}:${user.country}`;
            const known = this.evaluations.get(key);
            if (known) return known;
            const made = evaluate(user);
            this.evaluations.set(key, made);
            return made;
          }
        }
        """,
        3,
    ),
    good(
        _CACHE,
        _TS,
        """
        @Injectable()
        export class Flags {
          private readonly evaluations = new Map<string, Evaluation>();
          private readonly parsers = new Map<Kind, Parser>();
          forUser(user: UserContext) {
            const key = `${user.id}:${user.country}`;
            const known = this.evaluations.get(key);
            if (known) return known;
            this.evaluations.set(key, evaluate(user));
            setTimeout(() => this.evaluations.delete(key), 60_000);
          }
          parser(id: Kind) {
            if (!this.parsers.has(id)) this.parsers.set(id, new Parser(id));
            return this.parsers.get(id);
          }
        }
        """,
    ),
    bad(
        _CACHE,
        _GO,
        """
        package a

        import "sync"

        type Profiles struct {
        	mu    sync.RWMutex
        	known map[string]Profile
        }

        type Server struct {
        	byToken map[string]Profile
        	seen    sync.Map
        }

        func (s *Server) Get(token string) Profile {
        	if p, ok := s.byToken[token]; ok {
        		return p
        	}
        	p := load(token)
        	s.byToken[token] = p
        	return p
        }

        func (s *Server) Once(id string) bool {
        	_, found := s.seen.LoadOrStore(id, true)
        	return found
        }
        """,
        11,
        12,
    ),
    bad(
        _CACHE,
        _JAVA,
        """
        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        @Service
        public class Profiles {
          private final Map<String, Profile> known = new ConcurrentHashMap<>();
          public Profile get(String userId) {
            return known.computeIfAbsent(userId, id -> api.load(id));
          }
        }
        """,
        5,
    ),
    good(
        _CACHE,
        _JAVA,
        """
        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        @Service
        public class Profiles {
          private final Map<Market, Profile> byMarket = new ConcurrentHashMap<>();
          private final Map<String, Profile> known = new ConcurrentHashMap<>();
          private final Map<String, Channel> channels = new ConcurrentHashMap<>();
          public Profile get(Market market) {
            return byMarket.computeIfAbsent(market, id -> api.load(id));
          }
          public Profile get(String userId) {
            return known.computeIfAbsent(userId, id -> api.load(id));
          }
          @Scheduled(fixedRate = 60000)
          void trim() {
            known.entrySet().removeIf(e -> e.getValue().isOld());
          }
          public Channel channel(String shard) {
            return channels.computeIfAbsent(shard, this::open);
          }
        }
        """,
    ),
    bad(
        _CACHE,
        _RUST,
        """
        use std::collections::HashMap;
        use tokio::sync::RwLock;
        pub struct Profiles {
            known: RwLock<HashMap<String, Profile>>,
        }
        impl Profiles {
            pub async fn get(&self, user_id: &str) -> Profile {
                if let Some(p) = self.known.read().await.get(user_id) {
                    return p.clone();
                }
                let p = self.load(user_id).await;
                self.known.write().await.insert(user_id.to_string(), p.clone());
                p
            }
        }
        """,
        4,
    ),
    good(
        _CACHE,
        _RUST,
        """
        use std::collections::HashMap;
        use tokio::sync::RwLock;
        pub struct Profiles {
            known: RwLock<HashMap<String, Profile>>,
        }
        impl Profiles {
            pub async fn get(&self, user_id: &str) -> Profile {
                if let Some(p) = self.known.read().await.get(user_id) {
                    return p.clone();
                }
                let p = self.load(user_id).await;
                let mut known = self.known.write().await;
                known.retain(|_, each| !each.is_old());
                known.insert(user_id.to_string(), p.clone());
                p
            }
        }
        """,
    ),
    bad(
        _CACHE,
        _CS,
        """
        public class Profiles {
          private static readonly ConcurrentDictionary<string, Profile> Known = new();
          public Task<Profile> Get(string userId) => Task.FromResult(Known.GetOrAdd(userId, id => Load(id)));
        }
        """,
        2,
    ),
    bad(
        _CACHE,
        _KT,
        """
        import java.util.concurrent.ConcurrentHashMap
        class Profiles(private val api: Api) {
            private val known = ConcurrentHashMap<String, Profile>()
            fun get(userId: String): Profile = known.getOrPut(userId) { api.load(userId) }
        }
        """,
        3,
    ),
]

_LOADED = "loaded-by-every-caller"
CASES += [
    bad(
        _LOADED,
        _TS,
        """
        export class Partner {
          private token: Token | null = null;
          private readonly rates = new Map<string, Rate>();
          private async bearer(): Promise<string> {
            if (!this.token || this.token.expiresAt <= Date.now()) {
              this.token = await this.fetchToken();
            }
            return this.token.value;
          }
          async rate(pair: string): Promise<Rate> {
            const known = this.rates.get(pair);
            if (known) return known;
            const rate = await this.api.rate(pair);
            this.rates.set(pair, rate);
            return rate;
          }
        }
        """,
        6,
        14,
    ),
    good(
        _LOADED,
        _TS,
        """
        export class Partner {
          private token: Token | null = null;
          private loading: Promise<Token> | null = null;
          private readonly rates = new Map<string, Promise<Rate>>();
          private async bearer(): Promise<string> {
            if (!this.token || this.token.expiresAt <= Date.now()) {
              this.loading ??= this.fetchToken().finally(() => { this.loading = null; });
              this.token = await this.loading;
            }
            return this.token.value;
          }
          rate(pair: string): Promise<Rate> {
            const known = this.rates.get(pair);
            if (known) return known;
            const rate = this.api.rate(pair);
            this.rates.set(pair, rate);
            return rate;
          }
          async connect() {
            if (!this.client) this.client = await open();
          }
        }
        """,
    ),
    bad(
        _LOADED,
        _PY,
        """
        import json
        import httpx
        _cache = {}

        async def jwks(issuer):
            if issuer not in _cache:
                _cache[issuer] = await fetch_keys(issuer)
            return _cache[issuer]

        class Prices:
            def __init__(self, redis):
                self.redis = redis

            def price(self, sku):
                key = f"price:{sku}"
                known = self.redis.get(key)
                if known:
                    return json.loads(known)
                value = httpx.get(f"https://prices/{sku}", timeout=3).json()
                self.redis.setex(key, 60, json.dumps(value))
                return value
        """,
        7,
        20,
    ),
    good(
        _LOADED,
        _PY,
        """
        import asyncio
        _cache = {}
        _locks = {}

        async def jwks(issuer):
            async with _locks.setdefault(issuer, asyncio.Lock()):
                if issuer not in _cache:
                    _cache[issuer] = await fetch_keys(issuer)
            return _cache[issuer]

        def plain(issuer):
            if issuer not in _cache:
                _cache[issuer] = parse(issuer)
            return _cache[issuer]
        """,
    ),
    bad(
        _LOADED,
        _JAVA,
        """
        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        class Channels {
          private final Map<String, Channel> channels = new ConcurrentHashMap<>();
          Channel of(String shard) {
            if (!channels.containsKey(shard)) {
              channels.put(shard, open(shard));
            }
            return channels.get(shard);
          }
          Channel other(String shard) {
            Channel found = channels.get(shard);
            if (found == null) {
              found = open(shard);
              channels.put(shard, found);
            }
            return found;
          }
        }
        """,
        7,
        15,
    ),
    good(
        _LOADED,
        _JAVA,
        """
        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        class Channels {
          private final Map<String, Channel> channels = new ConcurrentHashMap<>();
          Channel of(String shard) {
            return channels.computeIfAbsent(shard, this::open);
          }
          synchronized Channel other(String shard) {
            if (!channels.containsKey(shard)) {
              channels.put(shard, open(shard));
            }
            return channels.get(shard);
          }
          void set(String shard, Channel channel) {
            channels.put(shard, channel);
          }
        }
        """,
    ),
    bad(
        _LOADED,
        _KT,
        """
        import java.util.concurrent.ConcurrentHashMap
        class PriceLists(private val repository: PriceRepository) {
            private val lists = ConcurrentHashMap<Market, PriceList>()
            suspend fun get(market: Market): PriceList {
                lists[market]?.let { return it }
                val list = load(market)
                lists[market] = list
                return list
            }
            private suspend fun load(market: Market): PriceList = repository.compute(market)
        }
        """,
        7,
    ),
    good(
        _LOADED,
        _KT,
        """
        import java.util.concurrent.ConcurrentHashMap
        import kotlinx.coroutines.sync.Mutex
        import kotlinx.coroutines.sync.withLock
        class PriceLists(private val repository: PriceRepository) {
            private val lists = ConcurrentHashMap<Market, PriceList>()
            private val mutex = Mutex()
            suspend fun get(market: Market): PriceList {
                lists[market]?.let { return it }
                return mutex.withLock { lists[market] ?: load(market).also { lists[market] = it } }
            }
            private suspend fun load(market: Market): PriceList = repository.compute(market)
        }
        """,
    ),
    bad(
        _LOADED,
        _CS,
        """
        public class Partner {
          private readonly ConcurrentDictionary<string, Rate> _rates = new();
          private Token? _token;
          public async Task<Rate> Rate(string pair) {
            if (_rates.TryGetValue(pair, out var known)) return known;
            var rate = await _api.RateAsync(pair);
            _rates[pair] = rate;
            return rate;
          }
          public async Task<string> Bearer() {
            if (_token == null || _token.Expires < DateTime.UtcNow) {
              _token = await FetchTokenAsync();
            }
            return _token.Value;
          }
        }
        """,
        7,
        12,
    ),
    bad(
        _LOADED,
        _GO,
        """
        package a

        import (
        	"net/http"
        	"sync"
        )

        type Rates struct {
        	known sync.Map
        	http  *http.Client
        }

        func (r *Rates) Get(pair string) (*http.Response, error) {
        	if found, ok := r.known.Load(pair); ok {
        		return found.(*http.Response), nil
        	}
        	rate, err := r.http.Get("https://rates/" + pair)
        	if err != nil {
        		return nil, err
        	}
        	r.known.Store(pair, rate)
        	return rate, nil
        }
        """,
        21,
    ),
    bad(
        _LOADED,
        _RUST,
        """
        use std::collections::HashMap;
        use dashmap::DashMap;
        pub struct Rates {
            known: DashMap<String, Rate>,
        }
        impl Rates {
            pub async fn get(&self, pair: &str) -> Rate {
                if let Some(found) = self.known.get(pair) {
                    return found.clone();
                }
                let rate = self.load(pair).await;
                self.known.insert(pair.to_string(), rate.clone());
                rate
            }
        }
        """,
        12,
    ),
]
