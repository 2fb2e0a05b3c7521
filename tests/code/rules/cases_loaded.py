"""Values that several callers load at once."""

# ruff: noqa: E101  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY = "python"
_TS = "typescript"
_GO = "go"
_JAVA = "java"
_RUST = "rust"
_CS = "csharp"
_KT = "kotlin"
_LOADED = "loaded-by-every-caller"

CASES = [
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
        13,
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
        6,
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
        6,
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
        17,
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
        11,
    ),
    good(
        _LOADED,
        "javascript",
        """
        class Session {
          async close() {
            if (this.connected) {
              await this.drain();
              this.connected = false;
            }
          }
          async trim(user) {
            const cached = this.rooms.get(user);
            if (!cached) return;
            await this.leave(cached);
            this.rooms.set(user, []);
          }
        }
        """,
    ),
]
