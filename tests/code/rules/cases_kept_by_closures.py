"""Caches that functions keep, and caches of libraries without a size."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "unbounded-cache",
        "python",
        """
        import time
        import threading

        class GeoLookup:
            TTL = 300

            def __init__(self, session):
                self._session = session
                self._lock = threading.Lock()
                self._entries = {}

            def locate(self, address: str) -> dict:
                now = time.monotonic()
                with self._lock:
                    hit = self._entries.get(address)
                    if hit and now - hit[0] < self.TTL:
                        return hit[1]
                response = self._session.get("https://geo.internal/v1", params={"q": address}, timeout=3)
                response.raise_for_status()
                place = response.json()
                with self._lock:
                    self._entries[address] = (now, place)
                return place
        """,
        10,
    ),
    bad(
        "unbounded-cache",
        "python",
        """
        import asyncio
        from collections import defaultdict

        class CartService:
            def __init__(self, repo):
                self._repo = repo
                self._locks = defaultdict(asyncio.Lock)

            async def add(self, cart_id: str, item: dict) -> None:
                async with self._locks[cart_id]:
                    cart = await self._repo.load(cart_id)
                    cart.items.append(item)
                    await self._repo.save(cart)
        """,
        7,
    ),
    bad(
        "unbounded-cache",
        "javascript",
        """
        const WINDOW_MS = 60_000;
        function rateLimit({ max }) {
          const hits = new Map();
          return function limiter(req, res, next) {
            const now = Date.now();
            const entry = hits.get(req.ip);
            if (!entry || now - entry.start > WINDOW_MS) {
              hits.set(req.ip, { start: now, count: 1 });
              return next();
            }
            entry.count += 1;
            if (entry.count > max) return res.status(429).end();
            next();
          };
        }
        module.exports = { rateLimit };
        """,
        3,
    ),
    bad(
        "unbounded-cache",
        "javascript",
        """
        import { LRUCache } from 'lru-cache';
        const previews = new LRUCache({ ttl: 10 * 60_000 });
        export async function preview(url) {
          const hit = previews.get(url);
          if (hit) return hit;
          const res = await fetch(`https://unfurl.internal/?u=${encodeURIComponent(url)}`, { signal: AbortSignal.timeout(3000) });
          if (!res.ok) throw new Error(`unfurl ${res.status}`);
          const data = await res.json();
          previews.set(url, data);
          return data;
        }
        """,
        2,
    ),
    good(
        "unbounded-cache",
        "javascript",
        """
        import { LRUCache } from 'lru-cache';
        const previews = new LRUCache({ max: 5000, ttl: 10 * 60_000 });
        export async function preview(url) {
          const hit = previews.get(url);
          if (hit) return hit;
          const res = await fetch(`https://unfurl.internal/?u=${encodeURIComponent(url)}`, { signal: AbortSignal.timeout(3000) });
          if (!res.ok) throw new Error(`unfurl ${res.status}`);
          const data = await res.json();
          previews.set(url, data);
          return data;
        }
        """,
    ),
    bad(
        "unbounded-cache",
        "typescript",
        """
        import DataLoader from "dataloader";
        import { db } from "./db";
        export const authorLoader = new DataLoader<string, Author>(async (ids) => {
          const rows = await db.selectFrom("author").selectAll().where("id", "in", [...ids]).execute();
          const byId = new Map(rows.map((r) => [r.id, r]));
          return ids.map((id) => byId.get(id) ?? new Error(`no author ${id}`));
        });
        """,
        3,
    ),
    bad(
        "unbounded-cache",
        "typescript",
        """
        import type { Pool } from "pg";
        export class TariffService {
          private readonly pending = new Map<string, Promise<Tariff>>();
          constructor(private readonly pool: Pool) {}
          tariffFor(zone: string, customerId: string): Promise<Tariff> {
            const key = `${zone}:${customerId}`;
            let found = this.pending.get(key);
            if (!found) {
              found = this.load(zone, customerId);
              this.pending.set(key, found);
            }
            return found;
          }
          private async load(zone: string, customerId: string): Promise<Tariff> {
            const { rows } = await this.pool.query("SELECT * FROM tariffs WHERE zone = $1 AND customer_id = $2", [zone, customerId]);
            return rows[0];
          }
        }
        """,
        3,
    ),
    bad(
        "unbounded-cache",
        "go",
        """
        package api

        import (
        	"encoding/json"
        	"net/http"
        	"sync"
        )

        func NewSuggestHandler(index *Index) http.HandlerFunc {
        	var mu sync.RWMutex
        	cache := make(map[string][]Suggestion)
        	return func(w http.ResponseWriter, r *http.Request) {
        		term := r.URL.Query().Get("q")
        		mu.RLock()
        		hits, ok := cache[term]
        		mu.RUnlock()
        		if !ok {
        			hits = index.Suggest(term)
        			mu.Lock()
        			cache[term] = hits
        			mu.Unlock()
        		}
        		w.Header().Set("Content-Type", "application/json")
        		if err := json.NewEncoder(w).Encode(hits); err != nil {
        			return
        		}
        	}
        }
        """,
        11,
    ),
    bad(
        "unbounded-cache",
        "go",
        """
        package api

        import (
        	"net/http"
        	"sync"

        	"golang.org/x/time/rate"
        )

        type Throttle struct {
        	limiters sync.Map
        	perSec   rate.Limit
        }

        func (t *Throttle) Wrap(next http.Handler) http.Handler {
        	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        		key := r.Header.Get("X-Api-Key")
        		value, _ := t.limiters.LoadOrStore(key, rate.NewLimiter(t.perSec, 10))
        		if !value.(*rate.Limiter).Allow() {
        			http.Error(w, "slow down", http.StatusTooManyRequests)
        			return
        		}
        		next.ServeHTTP(w, r)
        	})
        }
        """,
        11,
    ),
    bad(
        "unbounded-cache",
        "java",
        """
        package com.acme;

        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        import org.springframework.stereotype.Service;

        @Service
        public class RouteService {
            private record Leg(String from, String to) {}

            private final Map<Leg, Route> routes = new ConcurrentHashMap<>();
            private final RoutingClient client;

            public RouteService(RoutingClient client) {
                this.client = client;
            }

            public Route route(String from, String to) {
                return routes.computeIfAbsent(new Leg(from, to), leg -> client.plan(leg.from(), leg.to()));
            }
        }
        """,
        11,
    ),
    bad(
        "unbounded-cache",
        "java",
        """
        package com.acme;

        import io.micrometer.core.instrument.MeterRegistry;
        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        import org.springframework.stereotype.Service;

        @Service
        public class ExchangeService {
            private final Map<String, Quote> quotes = new ConcurrentHashMap<>();
            private final QuoteClient client;

            public ExchangeService(QuoteClient client, MeterRegistry meters) {
                this.client = client;
                meters.gauge("quotes.cached", quotes, Map::size);
            }

            public Quote quote(String customerId) {
                Quote known = quotes.get(customerId);
                if (known != null) {
                    return known;
                }
                Quote fresh = client.fetch(customerId);
                quotes.put(customerId, fresh);
                return fresh;
            }
        }
        """,
        10,
    ),
    bad(
        "unbounded-cache",
        "kotlin",
        """
        package com.acme

        import java.util.concurrent.ConcurrentHashMap
        import org.springframework.stereotype.Component

        @Component
        class AddressValidator(private val client: PostalClient) {
            private val validated = ConcurrentHashMap<String, Verdict>()

            fun validate(address: String): Verdict =
                validated.getOrPut(address.trim().lowercase()) { client.check(address) }
        }
        """,
        8,
    ),
    bad(
        "unbounded-cache",
        "rust",
        """
        use dashmap::DashMap;
        use std::sync::Arc;

        #[derive(Clone)]
        pub struct Previews {
            http: reqwest::Client,
            known: Arc<DashMap<String, Preview>>,
        }

        impl Previews {
            pub async fn of(&self, url: &str) -> Result<Preview, PreviewError> {
                if let Some(found) = self.known.get(url) {
                    return Ok(found.clone());
                }
                let preview: Preview = self.http.get("https://unfurl.internal/").query(&[("u", url)]).timeout(std::time::Duration::from_secs(3)).send().await?.error_for_status()?.json().await?;
                self.known.insert(url.to_string(), preview.clone());
                Ok(preview)
            }
        }
        """,
        7,
    ),
    bad(
        "unbounded-cache",
        "rust",
        """
        use cached::proc_macro::cached;

        #[cached(key = "String", convert = r#"{ postcode.to_owned() }"#, result = true)]
        async fn district(client: &Geo, postcode: &str) -> Result<District, GeoError> {
            client.district(postcode).await
        }
        """,
        3,
    ),
    bad(
        "unbounded-cache",
        "rust",
        """
        use std::collections::HashMap;
        use std::sync::{LazyLock, Mutex};

        static SEEN: LazyLock<Mutex<HashMap<String, u64>>> = LazyLock::new(|| Mutex::new(HashMap::new()));

        pub fn count_visit(visitor_id: &str) -> u64 {
            let mut seen = SEEN.lock().unwrap();
            let count = seen.entry(visitor_id.to_owned()).or_insert(0);
            *count += 1;
            *count
        }
        """,
        4,
    ),
    bad(
        "unbounded-cache",
        "csharp",
        """
        using System.Collections.Concurrent;

        public sealed class GeocodeService(HttpClient http)
        {
            private readonly ConcurrentDictionary<string, Lazy<Task<GeoPoint>>> _points = new();

            public Task<GeoPoint> LocateAsync(string address) =>
                _points.GetOrAdd(address, key => new Lazy<Task<GeoPoint>>(() => FetchAsync(key))).Value;

            private async Task<GeoPoint> FetchAsync(string address)
            {
                var point = await http.GetFromJsonAsync<GeoPoint>($"geo?q={Uri.EscapeDataString(address)}");
                return point ?? throw new InvalidOperationException("no point");
            }
        }
        """,
        5,
    ),
    bad(
        "unbounded-cache",
        "csharp",
        """
        using System.Collections.Concurrent;

        public sealed class WalletService(WalletStore store)
        {
            private readonly ConcurrentDictionary<Guid, SemaphoreSlim> _gates = new();

            public async Task DebitAsync(Guid walletId, decimal amount, CancellationToken ct)
            {
                var gate = _gates.GetOrAdd(walletId, _ => new SemaphoreSlim(1, 1));
                await gate.WaitAsync(ct);
                try
                {
                    var wallet = await store.LoadAsync(walletId, ct);
                    wallet.Debit(amount);
                    await store.SaveAsync(wallet, ct);
                }
                finally
                {
                    gate.Release();
                }
            }
        }
        """,
        5,
    ),
    good(
        "unbounded-cache",
        "javascript",
        """
        'use strict';
        const MAX_ENTRIES = 1000;
        function createLookupRouter({ db, router }) {
          const cached = new Map();
          async function find(term) {
            const hit = cached.get(term);
            if (hit) return hit;
            const rows = await db.search(term);
            if (cached.size >= MAX_ENTRIES) cached.delete(cached.keys().next().value);
            cached.set(term, rows);
            return rows;
          }
          router.get('/find', async (req, res, next) => {
            try {
              res.json(await find(String(req.query.q).slice(0, 80)));
            } catch (err) {
              next(err);
            }
          });
          return router;
        }
        module.exports = { createLookupRouter };
        """,
    ),
    good(
        "unbounded-cache",
        "javascript",
        """
        async function loadTree(db, rootId) {
          const seen = new Map();
          async function visit(id) {
            if (seen.has(id)) return seen.get(id);
            const node = await db.node(id);
            seen.set(id, node);
            return node;
          }
          return visit(rootId);
        }
        module.exports = { loadTree };
        """,
    ),
    bad(
        "unbounded-cache",
        "go",
        """
        package geo

        import (
        	"context"
        	"sync"
        )

        type Resolver struct {
        	mu    sync.Mutex
        	known map[string]Location
        	api   *Client
        }

        func NewResolver(api *Client) *Resolver {
        	return &Resolver{known: map[string]Location{}, api: api}
        }

        func (r *Resolver) Resolve(ctx context.Context, addr string) (Location, error) {
        	r.mu.Lock()
        	loc, ok := r.known[addr]
        	r.mu.Unlock()
        	if ok {
        		return loc, nil
        	}
        	loc, err := r.api.Lookup(ctx, addr)
        	if err != nil {
        		return Location{}, err
        	}
        	r.mu.Lock()
        	r.known[addr] = loc
        	r.mu.Unlock()
        	return loc, nil
        }
        """,
        10,
    ),
]
