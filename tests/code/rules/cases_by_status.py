"""Requests that failed by their status: answers left open, and lists that look empty."""

# ruff: noqa: E101  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "response-not-closed",
        "java",
        """
        import okhttp3.OkHttpClient;
        import okhttp3.Request;
        import okhttp3.Response;
        class A {
          private final OkHttpClient http = new OkHttpClient();
          String bad(Request request) throws IOException {
            Response response = http.newCall(request).execute();
            if (!response.isSuccessful()) {
              throw new IOException("status " + response.code());
            }
            return response.body().string();
          }
          String good(Request request) throws IOException {
            Response response = http.newCall(request).execute();
            if (!response.isSuccessful()) {
              response.close();
              throw new IOException("status " + response.code());
            }
            return response.body().string();
          }
          String good2(Request request) throws IOException {
            try (Response response = http.newCall(request).execute()) {
              if (!response.isSuccessful()) {
                throw new IOException("status " + response.code());
              }
              return response.body().string();
            }
          }
          String good3(Request request) throws IOException {
            Response response = http.newCall(request).execute();
            String text = response.body().string();
            if (response.code() == 404) return null;
            return text;
          }
          String good4(Request request) throws IOException {
            Response response = null;
            try {
              response = http.newCall(request).execute();
              if (response.code() == 404) return null;
              return response.body().string();
            } finally {
              if (response != null) response.close();
            }
          }
          Response good5(Request request) throws IOException {
            Response response = http.newCall(request).execute();
            if (response.code() == 503) { metrics.inc(); }
            return response;
          }
        }
        """,
        8,
    ),
    bad(
        "response-not-closed",
        "kotlin",
        """
        import okhttp3.OkHttpClient
        class B(private val http: OkHttpClient) {
            fun bad(request: Request): String? {
                val response = http.newCall(request).execute()
                val code = response.code
                if (code == 404) return null
                return response.body!!.string()
            }
            fun bad2(request: Request): String? {
                val response = http.newCall(request).execute()
                return if (response.isSuccessful) response.body?.string() else null
            }
            fun good(request: Request): String? {
                val response = http.newCall(request).execute()
                return response.use { if (it.isSuccessful) it.body?.string() else null }
            }
            fun good2(request: Request): Boolean {
                val response = http.newCall(request).execute()
                response.close()
                return if (response.isSuccessful) true else false
            }
        }
        """,
        6,
        11,
    ),
    bad(
        "response-not-closed",
        "java",
        """
        import org.apache.http.client.methods.CloseableHttpResponse;
        import org.apache.http.client.methods.HttpGet;
        import org.apache.http.impl.client.CloseableHttpClient;
        import org.apache.http.util.EntityUtils;
        class C {
          private final CloseableHttpClient http;
          String bad(HttpGet get) throws IOException {
            CloseableHttpResponse response = http.execute(get);
            if (response.getStatusLine().getStatusCode() != 200) {
              return null;
            }
            return EntityUtils.toString(response.getEntity());
          }
        }
        """,
        9,
    ),
    bad(
        "response-not-closed",
        "kotlin",
        """
        import okhttp3.OkHttpClient
        class Directory(private val http: OkHttpClient) {
            fun lookup(request: Request): Lookup {
                val response = http.newCall(request).execute()
                return when {
                    response.code == 404 -> Lookup.Unknown
                    else -> response.body!!.byteStream().use { Lookup.Found(read(it)) }
                }
            }
        }
        """,
        6,
    ),
    bad(
        "failure-looks-empty",
        "python",
        """
        import requests, httpx
        def fetch_debts(session: requests.Session, who):
            resp = session.get(f"{URL}/debts/{who}", timeout=4)
            if resp.status_code != 200:
                log.warning("refused %s", resp.status_code)
                return []
            return resp.json()["debts"]
        async def load(client: httpx.AsyncClient, who):
            resp = await client.get(f"/debts/{who}")
            if not resp.is_success:
                return {}
            return resp.json()
        def fine(session: requests.Session, who):
            resp = session.get(f"{URL}/debts/{who}", timeout=4)
            if resp.status_code == 404:
                return []
            resp.raise_for_status()
            return resp.json()["debts"]
        def suggestions(session: requests.Session, who):
            resp = session.get(f"{URL}/debts/{who}", timeout=4)
            if resp.status_code != 200:
                return []
            return resp.json()["debts"]
        """,
        6,
        11,
    ),
    bad(
        "failure-looks-empty",
        "go",
        """
        package x

        import "net/http"

        type Client struct { http *http.Client }

        func (c *Client) Debts(ctx context.Context, id string) ([]Debt, error) {
        	resp, err := c.http.Do(req)
        	if err != nil {
        		return nil, err
        	}
        	defer resp.Body.Close()
        	if resp.StatusCode != http.StatusOK {
        		c.log.Warn("refused", "status", resp.StatusCode)
        		return nil, nil
        	}
        	return decode(resp.Body)
        }
        """,
        15,
    ),
    bad(
        "failure-looks-empty",
        "java",
        """
        import java.net.http.HttpClient;
        class A {
          private final HttpClient http = HttpClient.newHttpClient();
          List<Debt> debts(String id) throws Exception {
            HttpResponse<String> response = http.send(request(id), BodyHandlers.ofString());
            if (response.statusCode() >= 400) {
              log.warn("refused {}", response.statusCode());
              return List.of();
            }
            return mapper.readValue(response.body(), LIST);
          }
        }
        """,
        8,
    ),
    bad(
        "failure-looks-empty",
        "kotlin",
        """
        import okhttp3.OkHttpClient
        class A(private val http: OkHttpClient) {
            fun debts(id: String): List<Debt> {
                http.newCall(request(id)).execute().use { response ->
                    if (!response.isSuccessful) return emptyList()
                    return parse(response.body!!.string())
                }
            }
        }
        """,
        5,
    ),
    bad(
        "failure-looks-empty",
        "csharp",
        """
        using System.Net.Http;
        class A {
          private readonly HttpClient _http;
          public async Task<IReadOnlyList<Debt>> DebtsAsync(string id, CancellationToken ct) {
            using var response = await _http.GetAsync($"debts/{id}", ct);
            if (!response.IsSuccessStatusCode)
            {
                _log.LogWarning("refused {Status}", response.StatusCode);
                return Array.Empty<Debt>();
            }
            return await response.Content.ReadFromJsonAsync<List<Debt>>(ct);
          }
        }
        """,
        9,
    ),
    bad(
        "failure-looks-empty",
        "rust",
        """
        use reqwest::Client;
        struct Debts { http: Client }
        impl Debts {
            async fn debts(&self, id: &str) -> anyhow::Result<Vec<Debt>> {
                let resp = self.http.get(url).send().await?;
                if !resp.status().is_success() {
                    warn!("refused {}", resp.status());
                    return Ok(Vec::new());
                }
                Ok(resp.json().await?)
            }
        }
        """,
        8,
    ),
    bad(
        "failure-looks-empty",
        "javascript",
        """
        async function fetchDebts(id) {
          const res = await fetch(`${URL}/debts/${id}`, { signal: AbortSignal.timeout(4000) });
          if (!res.ok) {
            return [];
          }
          return (await res.json()).debts;
        }
        """,
        4,
    ),
    good(
        "failure-looks-empty",
        "javascript",
        """
        async function fetchDebts(id) {
          const res = await fetch(`${URL}/debts/${id}`, { signal: AbortSignal.timeout(4000) });
          if (!res.ok) {
            throw new UpstreamError(res.status);
          }
          return (await res.json()).debts;
        }
        """,
    ),
    good(
        "failure-looks-empty",
        "javascript",
        """
        async function fetchDebts(id) {
          const res = await fetch(`${URL}/debts/${id}`, { signal: AbortSignal.timeout(4000) });
          if (!res.ok) {
            // The page shows what there is.
            return [];
          }
          return (await res.json()).debts;
        }
        """,
    ),
    good(
        "failure-looks-empty",
        "javascript",
        """
        async function fetchDebts(id) {
          const res = await fetch(`${URL}/debts/${id}`, { signal: AbortSignal.timeout(4000) });
          if (res.status === 404) {
            return [];
          }
          return (await res.json()).debts;
        }
        """,
    ),
    good(
        "failure-looks-empty",
        "javascript",
        """
        function debts(parsed) {
          const res = validate(parsed);
          if (!res.ok) return [];
          return res.value;
        }
        """,
    ),
]
