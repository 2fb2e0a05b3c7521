"""Retries inside of retries."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "nested-retries",
        "python",
        """
    import requests
    import tenacity
    @tenacity.retry(stop=tenacity.stop_after_attempt(5), wait=tenacity.wait_exponential())
    def report(session, url, body):
        for attempt in range(3):
            try:
                return session.post(url, json=body, timeout=3)
            except requests.RequestException:
                if attempt == 2:
                    raise
                time.sleep(2**attempt)
    """,
        5,
    ),
    good(
        "nested-retries",
        "python",
        """
    import requests
    import tenacity
    @tenacity.retry(stop=tenacity.stop_after_attempt(5), wait=tenacity.wait_exponential())
    def report(session, url, body):
        return session.post(url, json=body, timeout=3)
    """,
    ),
    # By a client of this text that tries again by itself, or a function that does.
    bad(
        "nested-retries",
        "typescript",
        """
        import axiosRetry from 'axios-retry';
        import pRetry from 'p-retry';
        export function createHttp(baseURL: string) {
          const http = axios.create({ baseURL, timeout: 3000 });
          axiosRetry(http, { retries: 3, retryDelay: axiosRetry.exponentialDelay });
          return http;
        }
        export class Screening {
          constructor(private readonly http: AxiosInstance) {}
          async screen(id: string) {
            return pRetry(() => this.lookup(id), { retries: 4 });
          }
          private async lookup(id: string) {
            const { data } = await this.http.get(`/people/${id}`);
            return data;
          }
        }
        """,
        11,
    ),
    bad(
        "nested-retries",
        "csharp",
        """
        public class Fares
        {
            public async Task<Fare> FindAsync(string path)
            {
                for (var attempt = 1; ; attempt++)
                {
                    try
                    {
                        return await _http.GetFromJsonAsync<Fare>(path);
                    }
                    catch (HttpRequestException) when (attempt < 4)
                    {
                        await Task.Delay(300 * attempt);
                    }
                }
            }
        }
        public static class Setup
        {
            public static void Add(IServiceCollection services) =>
                services.AddHttpClient<Fares>().AddPolicyHandler(HttpPolicyExtensions
                    .HandleTransientHttpError()
                    .WaitAndRetryAsync(4, n => TimeSpan.FromSeconds(n)));
        }
        """,
        5,
    ),
    good(
        "nested-retries",
        "csharp",
        """
        public class Fares
        {
            public async Task SaveAsync(Fare fare)
            {
                for (var attempt = 1; ; attempt++)
                {
                    try
                    {
                        await _store.WriteAsync(fare);
                        return;
                    }
                    catch (DbUpdateException) when (attempt < 4)
                    {
                        await Task.Delay(300 * attempt);
                    }
                }
            }
        }
        public static class Setup
        {
            public static void Add(IServiceCollection services) =>
                services.AddHttpClient<Fares>().AddPolicyHandler(HttpPolicyExtensions
                    .HandleTransientHttpError()
                    .WaitAndRetryAsync(4, n => TimeSpan.FromSeconds(n)));
        }
        """,
    ),
    bad(
        "nested-retries",
        "go",
        """
        package fares

        func (c *Client) Sync(ctx context.Context, id string) error {
        	var err error
        	for attempt := 0; attempt < 3; attempt++ {
        		if err = c.load(ctx, id); err == nil {
        			return nil
        		}
        		time.Sleep(time.Second << attempt)
        	}
        	return err
        }

        func (c *Client) load(ctx context.Context, id string) error {
        	return retry.Do(func() error {
        		return c.get(ctx, id)
        	}, retry.Attempts(5))
        }
        """,
        5,
    ),
    bad(
        "nested-retries",
        "python",
        """
        import requests
        from requests.adapters import HTTPAdapter
        from tenacity import retry, stop_after_attempt, wait_exponential
        from urllib3.util.retry import Retry
        session = requests.Session()
        session.mount("https://", HTTPAdapter(max_retries=Retry(total=3, backoff_factor=0.5)))
        @retry(stop=stop_after_attempt(5), wait=wait_exponential())
        def load(path):
            return session.get(path, timeout=3).json()
        """,
        7,
    ),
    bad(
        "nested-retries",
        "kotlin",
        """
        class Rates {
            private val client = HttpClient(CIO) {
                install(HttpRequestRetry) { maxRetries = 3; exponentialDelay() }
            }
            suspend fun load(): Rates {
                repeat(4) { attempt ->
                    try {
                        return client.get("/rates").body()
                    } catch (e: IOException) {
                        delay(200L shl attempt)
                    }
                }
                error("gave up")
            }
        }
        """,
        6,
    ),
    bad(
        "nested-retries",
        "java",
        """
        class Rates {
            @Retryable(maxAttempts = 4)
            Rate load(String id) {
                return fetch(id);
            }
            private Rate fetch(String id) {
                return retry.executeSupplier(() -> http.get(id));
            }
        }
        """,
        2,
    ),
    good(
        "nested-retries",
        "java",
        """
        class Rates {
            @Retryable(maxAttempts = 4)
            Rate load(String id) {
                return http.get(id);
            }
            Rate other(String id) {
                return retry.executeSupplier(() -> http.get(id));
            }
        }
        """,
    ),
]
