"""POSTs that a client, an operator or a helper sends again, and answers that stay the same."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

AGAIN = "retry-of-non-idempotent-call"
STAYS = "retry-of-permanent-failure"

CASES = [
    bad(
        AGAIN,
        "kotlin",
        """
        class Orders {
            private val client = HttpClient(CIO) {
                install(HttpRequestRetry) {
                    retryOnExceptionOrServerErrors(maxRetries = 3)
                    exponentialDelay()
                }
            }
            suspend fun place(order: Order): Receipt = client.post("/orders") { setBody(order) }.body()
        }
        """,
        8,
    ),
    good(
        AGAIN,
        "kotlin",
        """
        class Orders {
            private val client = HttpClient(CIO) {
                install(HttpRequestRetry) {
                    retryIf(3) { request, _ -> request.method == HttpMethod.Get }
                    exponentialDelay()
                }
            }
            suspend fun place(order: Order): Receipt = client.post("/orders") { setBody(order) }.body()
        }
        """,
    ),
    bad(
        AGAIN,
        "csharp",
        """
        public class Payments(HttpClient http)
        {
            public Task<Answer> ChargeAsync(Charge charge) => http.PostAsJsonAsync("charges", charge);
        }
        public static class Setup
        {
            public static void Add(IServiceCollection services) =>
                services.AddHttpClient<Payments>().AddStandardResilienceHandler();
        }
        """,
        3,
    ),
    good(
        AGAIN,
        "csharp",
        """
        public class Payments(HttpClient http)
        {
            public Task<Answer> ChargeAsync(Charge charge) => http.PostAsJsonAsync("charges", charge);
        }
        public static class Setup
        {
            public static void Add(IServiceCollection services) => services.AddHttpClient<Payments>()
                .AddStandardResilienceHandler(options => options.Retry.DisableForUnsafeHttpMethods());
        }
        """,
    ),
    bad(
        AGAIN,
        "rust",
        """
        fn client(policy: ExponentialBackoff) -> ClientWithMiddleware {
            let inner = reqwest::Client::new();
            ClientBuilder::new(inner).with(RetryTransientMiddleware::new_with_policy(policy)).build()
        }
        async fn charge(http: &ClientWithMiddleware, charge: &Charge) -> Result<Response> {
            Ok(http.post("https://pay.example/charges").json(charge).send().await?)
        }
        """,
        6,
    ),
    bad(
        AGAIN,
        "java",
        """
        class Payments {
            Mono<Receipt> charge(Charge charge) {
                return web.post().uri("/charges").bodyValue(charge).retrieve().bodyToMono(Receipt.class)
                    .retryWhen(Retry.backoff(3, Duration.ofMillis(200)));
            }
        }
        """,
        3,
    ),
    good(
        AGAIN,
        "java",
        """
        class Payments {
            Mono<Receipt> charge(Charge charge) {
                return web.post().uri("/charges").header("Idempotency-Key", charge.key()).bodyValue(charge)
                    .retrieve().bodyToMono(Receipt.class).retryWhen(Retry.backoff(3, Duration.ofMillis(200)));
            }
        }
        """,
    ),
    bad(
        AGAIN,
        "go",
        """
        package orders

        func (c *Client) Place(ctx context.Context, body []byte) (*Receipt, error) {
        	var last error
        	for attempt := 0; attempt < 3; attempt++ {
        		receipt, err := c.post(ctx, "/orders", body)
        		if err == nil {
        			return receipt, nil
        		}
        		last = err
        		time.Sleep(backoff(attempt))
        	}
        	return nil, last
        }

        func (c *Client) post(ctx context.Context, path string, body []byte) (*Receipt, error) {
        	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
        	if err != nil {
        		return nil, err
        	}
        	return decode(c.http.Do(req))
        }
        """,
        5,
    ),
    bad(
        STAYS,
        "java",
        """
        class Rates {
            Rate load(String id) throws Exception {
                for (int attempt = 1; attempt <= 5; attempt++) {
                    HttpResponse<String> answer = http.send(request(id), ofString());
                    if (answer.statusCode() == 200) return parse(answer.body());
                    Thread.sleep(200L << attempt);
                }
                throw new IOException("gave up");
            }
        }
        """,
        3,
    ),
    good(
        STAYS,
        "java",
        """
        class Rates {
            Rate load(String id) throws Exception {
                for (int attempt = 1; attempt <= 5; attempt++) {
                    HttpResponse<String> answer = http.send(request(id), ofString());
                    if (answer.statusCode() == 200) return parse(answer.body());
                    if (answer.statusCode() < 500) throw new IOException("refused");
                    Thread.sleep(200L << attempt);
                }
                throw new IOException("gave up");
            }
        }
        """,
    ),
    bad(
        STAYS,
        "python",
        """
        class Rates:
            @retry(retry=retry_if_exception_type(httpx.HTTPError), stop=stop_after_attempt(5), wait=PAUSE)
            def load(self, code):
                answer = self.client.get(f"/rates/{code}")
                answer.raise_for_status()
                return answer.json()
        """,
        5,
    ),
    good(
        STAYS,
        "python",
        """
        class Rates:
            @retry(retry=retry_if_exception(is_transient), stop=stop_after_attempt(5), wait=PAUSE)
            def load(self, code):
                answer = self.client.get(f"/rates/{code}")
                answer.raise_for_status()
                return answer.json()
        """,
    ),
]
