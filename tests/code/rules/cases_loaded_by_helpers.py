"""Values that a helper of the file loads for every caller."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "loaded-by-every-caller",
        "python",
        """
        import threading, time
        import httpx

        class TokenProvider:
            def __init__(self, client: httpx.Client):
                self._client = client
                self._token = None
                self._expires = 0.0

            def token(self) -> str:
                if self._token is None or time.monotonic() >= self._expires:
                    self._refresh()
                return self._token

            def _refresh(self):
                answer = self._client.post("https://idp.example.com/token", data={"grant_type": "client_credentials"})
                answer.raise_for_status()
                body = answer.json()
                self._token = body["access_token"]
                self._expires = time.monotonic() + body["expires_in"] - 30
        """,
        12,
    ),
    good(
        "loaded-by-every-caller",
        "python",
        """
        import threading, time
        import httpx

        class TokenProvider:
            def __init__(self):
                self._client = httpx.Client(timeout=5)
                self._lock = threading.Lock()
                self._token = None
                self._expires = 0.0

            def token(self) -> str:
                if self._token is not None and time.monotonic() < self._expires:
                    return self._token
                with self._lock:
                    if self._token is None or time.monotonic() >= self._expires:
                        self._refresh()
                    return self._token

            def _refresh(self):
                answer = self._client.post("https://idp.example.com/token", data={"grant_type": "client_credentials"})
                answer.raise_for_status()
                body = answer.json()
                self._token = body["access_token"]
                self._expires = time.monotonic() + body["expires_in"] - 30
        """,
    ),
    bad(
        "loaded-by-every-caller",
        "go",
        """
        package rates

        import (
        	"context"
        	"encoding/json"
        	"net/http"
        	"sync"
        	"time"
        )

        type Cache struct {
        	mu      sync.RWMutex
        	entries map[string]entry
        	client  *http.Client
        }

        type entry struct {
        	rate    float64
        	expires time.Time
        }

        func (c *Cache) Get(ctx context.Context, currency string) (float64, error) {
        	c.mu.RLock()
        	e, ok := c.entries[currency]
        	c.mu.RUnlock()
        	if ok && time.Now().Before(e.expires) {
        		return e.rate, nil
        	}
        	rate, err := c.load(ctx, currency)
        	if err != nil {
        		return 0, err
        	}
        	c.mu.Lock()
        	c.entries[currency] = entry{rate, time.Now().Add(time.Minute)}
        	c.mu.Unlock()
        	return rate, nil
        }

        func (c *Cache) load(ctx context.Context, currency string) (float64, error) {
        	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://rates.example.com/"+currency, nil)
        	if err != nil {
        		return 0, err
        	}
        	resp, err := c.client.Do(req)
        	if err != nil {
        		return 0, err
        	}
        	defer resp.Body.Close()
        	if resp.StatusCode != http.StatusOK {
        		return 0, errStatus
        	}
        	var out struct{ Rate float64 }
        	return out.Rate, json.NewDecoder(resp.Body).Decode(&out)
        }
        """,
        29,
    ),
    good(
        "loaded-by-every-caller",
        "go",
        """
        package rates

        import (
        	"context"
        	"sync"
        	"time"

        	"golang.org/x/sync/singleflight"
        )

        type Cache struct {
        	mu      sync.RWMutex
        	entries map[string]entry
        	group   singleflight.Group
        	store   Store
        }

        type entry struct {
        	rate    float64
        	expires time.Time
        }

        func (c *Cache) Get(ctx context.Context, currency string) (float64, error) {
        	c.mu.RLock()
        	e, ok := c.entries[currency]
        	c.mu.RUnlock()
        	if ok && time.Now().Before(e.expires) {
        		return e.rate, nil
        	}
        	v, err, _ := c.group.Do(currency, func() (any, error) {
        		rate, err := c.store.LoadRate(ctx, currency)
        		if err != nil {
        			return nil, err
        		}
        		c.mu.Lock()
        		c.entries[currency] = entry{rate, time.Now().Add(time.Minute)}
        		c.mu.Unlock()
        		return rate, nil
        	})
        	if err != nil {
        		return 0, err
        	}
        	return v.(float64), nil
        }
        """,
    ),
    bad(
        "loaded-by-every-caller",
        "kotlin",
        """
        package shop.rates

        import java.time.Duration
        import java.time.Instant

        class RateTable(private val client: RateClient) {
            @Volatile private var table: Map<String, Double>? = null
            @Volatile private var loaded: Instant = Instant.EPOCH

            suspend fun rate(currency: String): Double? {
                val current = table
                if (current == null || Duration.between(loaded, Instant.now()) > Duration.ofMinutes(5)) {
                    val fresh = client.fetchAll()
                    table = fresh
                    loaded = Instant.now()
                    return fresh[currency]
                }
                return current[currency]
            }
        }
        """,
        13,
    ),
    good(
        "loaded-by-every-caller",
        "kotlin",
        """
        package shop.rates

        import java.time.Duration
        import java.time.Instant
        import kotlinx.coroutines.sync.Mutex
        import kotlinx.coroutines.sync.withLock

        class RateTable(private val client: RateClient) {
            private val mutex = Mutex()
            @Volatile private var table: Map<String, Double>? = null
            @Volatile private var loaded: Instant = Instant.EPOCH

            suspend fun rate(currency: String): Double? {
                fresh()?.let { return it[currency] }
                return mutex.withLock {
                    val current = fresh() ?: client.fetchAll().also {
                        table = it
                        loaded = Instant.now()
                    }
                    current[currency]
                }
            }

            private fun fresh(): Map<String, Double>? =
                table?.takeIf { Duration.between(loaded, Instant.now()) < Duration.ofMinutes(5) }
        }
        """,
    ),
    bad(
        "loaded-by-every-caller",
        "csharp",
        """
        using Microsoft.Extensions.Caching.Memory;

        public class Rates
        {
            private readonly IMemoryCache _cache;
            private readonly IRateApi _api;
            public Rates(IMemoryCache cache, IRateApi api) { _cache = cache; _api = api; }

            public async Task<RateTable> GetAsync(CancellationToken ct)
            {
                if (_cache.TryGetValue("rates", out RateTable? table)) return table!;
                table = await _api.DownloadAsync(ct);
                _cache.Set("rates", table, TimeSpan.FromMinutes(5));
                return table;
            }
        }
        """,
        13,
    ),
    good(
        "loaded-by-every-caller",
        "csharp",
        """
        using Microsoft.Extensions.Caching.Memory;

        public class Rates
        {
            private readonly IMemoryCache _cache;
            private readonly IRateApi _api;
            private readonly SemaphoreSlim _gate = new(1, 1);
            public Rates(IMemoryCache cache, IRateApi api) { _cache = cache; _api = api; }

            public async Task<RateTable> GetAsync(CancellationToken ct)
            {
                if (_cache.TryGetValue("rates", out RateTable? table)) return table!;
                await _gate.WaitAsync(ct);
                try
                {
                    if (_cache.TryGetValue("rates", out table)) return table!;
                    table = await _api.DownloadAsync(ct);
                    _cache.Set("rates", table, TimeSpan.FromMinutes(5));
                    return table;
                }
                finally
                {
                    _gate.Release();
                }
            }
        }
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "kotlin",
        """
        package shop.avatars

        import io.ktor.server.application.*
        import io.ktor.server.request.*
        import io.ktor.server.response.*
        import io.ktor.server.routing.*
        import java.awt.image.BufferedImage
        import java.io.File
        import javax.imageio.ImageIO

        class AvatarStore(private val folder: File) {
            fun store(id: String, bytes: ByteArray) {
                val image = ImageIO.read(bytes.inputStream())
                val small = scale(image)
                ImageIO.write(small, "png", File(folder, "$id.png"))
            }
            private fun scale(image: BufferedImage): BufferedImage = image.getSubimage(0, 0, 64, 64)
        }

        fun Route.avatars(store: AvatarStore) {
            put("/users/{id}/avatar") {
                val bytes = call.receive<ByteArray>()
                store.store(call.parameters["id"]!!, bytes)
                call.respond("ok")
            }
        }
        """,
        23,
    ),
]
