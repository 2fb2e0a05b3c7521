"""Retries by policies of libraries, by recursion, and at the end of a connection."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

BACKOFF = "retry-without-backoff"
LIMIT = "retry-without-limit"
AGAIN = "retry-of-non-idempotent-call"
RECURSION = "unbounded-recursion"
WAIT = "wait-not-cancelled"

CASES = [
    bad(LIMIT, "csharp", """
        class Suggest {
            private readonly AsyncRetryPolicy _retry = Policy.Handle<HttpRequestException>()
                .WaitAndRetryForeverAsync(_ => TimeSpan.FromMilliseconds(100));
        }
        """, 2),
    good(LIMIT, "csharp", """
        class Suggest {
            private readonly AsyncRetryPolicy _retry = Policy.Handle<HttpRequestException>()
                .WaitAndRetryAsync(4, n => TimeSpan.FromSeconds(Math.Pow(2, n)));
        }
        """),
    bad(BACKOFF, "csharp", """
        class Suggest {
            private readonly AsyncRetryPolicy _retry = Policy.Handle<HttpRequestException>().RetryAsync(5);
        }
        """, 2),
    good(BACKOFF, "csharp", """
        class Suggest {
            private readonly AsyncRetryPolicy _retry = Policy.Handle<HttpRequestException>()
                .WaitAndRetryAsync(4, n => TimeSpan.FromSeconds(Math.Pow(2, n)));
        }
        """),
    bad(LIMIT, "java", """
        class Prices {
            RetryTemplate retry = RetryTemplate.builder().infiniteRetry().exponentialBackoff(1, 2, 9).build();
        }
        """, 2),
    bad(LIMIT, "java", """
        class Prices {
            @Retryable(maxAttempts = Integer.MAX_VALUE, backoff = @Backoff(delay = 100, multiplier = 2))
            public Price one(String id) { return http.getForObject("/p/{id}", Price.class, id); }
        }
        """, 2),
    bad(BACKOFF, "java", """
        class Prices {
            Mono<Price> one() { return web.get().uri("/p").retrieve().bodyToMono(Price.class).retry(3); }
        }
        """, 2),
    good(BACKOFF, "java", """
        class Prices {
            Mono<Price> one() {
                return web.get().uri("/p").retrieve().bodyToMono(Price.class)
                    .retryWhen(Retry.backoff(3, Duration.ofMillis(200)));
            }
        }
        """),
    bad(BACKOFF, "typescript", """
        import axios from 'axios';
        import axiosRetry from 'axios-retry';
        const client = axios.create({ timeout: 2000 });
        axiosRetry(client, { retries: 5 });
        """, 4),
    good(BACKOFF, "typescript", """
        import axios from 'axios';
        import axiosRetry from 'axios-retry';
        const client = axios.create({ timeout: 2000 });
        axiosRetry(client, { retries: 5, retryDelay: axiosRetry.exponentialDelay });
        """),
    bad(BACKOFF, "python", """
        from urllib3.util.retry import Retry
        policy = Retry(total=5, status_forcelist=[502, 503])
        """, 2),
    good(BACKOFF, "python", """
        from urllib3.util.retry import Retry
        policy = Retry(total=5, backoff_factor=0.5)
        """),
    bad(BACKOFF, "kotlin", """
        suspend fun push(api: Api, order: Order): Receipt {
            repeat(4) {
                try { return api.push(order) } catch (e: IOException) { log.warn("again", e) }
            }
            throw GaveUp()
        }
        """, 2),
    good(BACKOFF, "kotlin", """
        suspend fun push(api: Api, order: Order): Receipt {
            repeat(4) { n ->
                try { return api.push(order) } catch (e: IOException) { delay(200L shl n) }
            }
            throw GaveUp()
        }
        fun all(orders: List<Order>) { repeat(4) { print(orders[it]) } }
        """),
    # Reconnects.
    bad(BACKOFF, "typescript", """
        import WebSocket from 'ws';
        class Feed {
          connect() {
            const socket = new WebSocket(this.url);
            socket.on('close', () => {
              if (!this.closed) this.connect();
            });
          }
        }
        """, 6),
    good(BACKOFF, "typescript", """
        import WebSocket from 'ws';
        class Feed {
          connect() {
            const socket = new WebSocket(this.url);
            socket.on('close', () => {
              this.tries += 1;
              setTimeout(() => this.connect(), Math.min(30000, 500 * 2 ** this.tries));
            });
          }
        }
        """),
    # Calls that act again.
    bad(AGAIN, "java", """
        class Cards {
            private final RestTemplate http;
            @Retryable(maxAttempts = 3)
            public Charge charge(Order order) { return http.postForObject("/charges", order, Charge.class); }
        }
        """, 4),
    good(AGAIN, "java", """
        class Cards {
            private final RestTemplate http;
            @Retryable(maxAttempts = 3)
            public Charge charge(Order order) {
                HttpHeaders headers = new HttpHeaders();
                headers.set("Idempotency-Key", order.id());
                return http.postForObject("/charges", new HttpEntity<>(order, headers), Charge.class);
            }
            @Retryable(maxAttempts = 3)
            public Charge one(String id) { return http.getForObject("/charges/{id}", Charge.class, id); }
        }
        """),
    bad(AGAIN, "csharp", """
        class Cards {
            private readonly HttpClient _http;
            public Task Charge(Order o) => _retry.ExecuteAsync(() => _http.PostAsJsonAsync("charges", o));
        }
        """, 3),
    bad(AGAIN, "rust", """
        async fn charge(http: &reqwest::Client, order: &Order) -> anyhow::Result<()> {
            for n in 0..3 {
                match http.post("https://pay/charges").json(order).send().await {
                    Ok(_) => return Ok(()),
                    Err(_) => tokio::time::sleep(PAUSE * n).await,
                }
            }
            anyhow::bail!("gave up")
        }
        """, 3),
    bad(AGAIN, "typescript", """
        class Cards {
          constructor(private readonly gateway: PayGateway) {}
          async pay(order: Order) {
            for (let attempt = 0; attempt < 3; attempt++) {
              try {
                return await this.gateway.charge(order);
              } catch (err) {
                await sleep(2 ** attempt * 100);
              }
            }
          }
        }
        """, 6),
    # Recursion.
    bad(RECURSION, "kotlin", """
        suspend fun <T> again(block: suspend () -> T): T =
            try { block() } catch (e: IOException) { again(block) }
        """, 2),
    good(RECURSION, "kotlin", """
        suspend fun <T> again(left: Int, block: suspend () -> T): T =
            try { block() } catch (e: IOException) { if (left == 0) throw e else again(left - 1, block) }
        fun size(tree: Tree): Int = size(tree.left) + 1
        """),
    bad(RECURSION, "csharp", """
        class Rates {
            async Task<Rate> Load(string id) {
                try { return await _api.Get(id); } catch (HttpRequestException) { return await Load(id); }
            }
        }
        """, 3),
    bad(RECURSION, "go", """
        package a
        func load(c *Client, id string) (*Rate, error) {
            rate, err := c.Get(id)
            if err != nil {
                return load(c, id)
            }
            return rate, nil
        }
        """, 5),
    # Waits.
    bad(WAIT, "go", """
        package a
        import ("context"; "time")
        func send(ctx context.Context, c *Client) error {
            var err error
            for try := 0; try < 5; try++ {
                if err = c.Post(ctx); err == nil {
                    return nil
                }
                time.Sleep(time.Second << try)
            }
            return err
        }
        """, 9),
    good(WAIT, "go", """
        package a
        import ("context"; "time")
        func send(ctx context.Context, c *Client) error {
            var err error
            for try := 0; try < 5; try++ {
                if err = c.Post(ctx); err == nil {
                    return nil
                }
                select {
                case <-ctx.Done():
                    return ctx.Err()
                case <-time.After(time.Second << try):
                }
            }
            return err
        }
        func plain(c *Client) error {
            var err error
            for try := 0; try < 5; try++ {
                if err = c.Post(); err == nil {
                    return nil
                }
                time.Sleep(time.Second << try)
            }
            return err
        }
        """),
    bad(WAIT, "typescript", """
        async function send(url: string, signal: AbortSignal) {
          for (let attempt = 0; attempt < 5; attempt++) {
            try {
              return await fetch(url, { signal });
            } catch (err) {
              await sleep(2 ** attempt * 500);
            }
          }
        }
        """, 6),
    good(WAIT, "typescript", """
        async function send(url: string, signal: AbortSignal) {
          for (let attempt = 0; attempt < 5; attempt++) {
            try {
              return await fetch(url, { signal });
            } catch (err) {
              await sleep(2 ** attempt * 500, undefined, { signal });
            }
          }
        }
        """),
]  # fmt: skip
