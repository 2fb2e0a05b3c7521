"""Clients and connections that a helper makes anew for each of its callers."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CLIENT = "http-client-per-call"
_CONNECTION = "connection-per-call"

_RUST = """
        struct Sms {
            key: String,
        }

        impl Sms {
            pub async fn send(&self, text: &str) -> Result<(), Error> {
                self.client()?.post(URL).body(text.to_string()).send().await?.error_for_status()?;
                Ok(())
            }

            fn client(&self) -> Result<reqwest::Client, Error> {
                Ok(reqwest::Client::builder().timeout(LIMIT).build()?)
            }
        }
        """
_PYTHON = """
        import httpx

        class Api:
            def _client(self):
                return httpx.AsyncClient(timeout=5)

            async def user(self, number):
                async with self._client() as client:
                    return (await client.get(f"/users/{number}")).raise_for_status().json()
        """
_KEPT = """
        import httpx

        class Api:
            def __init__(self):
                self.http = self._client()

            def _client(self):
                return httpx.AsyncClient(timeout=5)

            async def user(self, number):
                return (await self.http.get(f"/users/{number}")).raise_for_status().json()
        """
_LAZY = """
        import httpx

        class Api:
            def _client(self):
                if self.http is None:
                    self.http = httpx.AsyncClient(timeout=5)
                return self.http

            async def user(self, number):
                return (await self._client().get(f"/users/{number}")).raise_for_status().json()
        """
_REPOSITORY = """
        import psycopg2

        class Users:
            def _connect(self):
                return psycopg2.connect(self.dsn, connect_timeout=5)

            def name(self, number):
                with self._connect() as conn, conn.cursor() as cur:
                    cur.execute("select name from users where id = %s", (number,))
                    return cur.fetchone()[0]
        """
_AGENT = """
        import got from "got";
        import { Guarded } from "./guarded.js";

        function client(headers) {
          const agent = new Guarded();
          return got.extend({ agent: { http: agent } });
        }

        export async function size(url) {
          const http = client({});
          return (await http.head(url)).headers["content-length"];
        }
        """
_TRANSPORT = """
        package a

        import "net/http"

        func client(shared http.RoundTripper) *http.Client {
            return &http.Client{Transport: &http.Transport{}}
        }

        func Load(url string) (*http.Response, error) {
            c := client(rt)
            return c.Get(url)
        }
        """

CASES = [
    bad(_CLIENT, "rust", _RUST, 7),
    good(_CLIENT, "rust", _RUST.replace("self.client()?.post", "self.http.post")),
    bad(_CLIENT, "python", _PYTHON, 5),
    good(_CLIENT, "python", _KEPT),
    good(_CLIENT, "python", _LAZY),
    bad(_CLIENT, "kotlin", """
        class Api {
            private fun client() = okhttp3.OkHttpClient.Builder().callTimeout(LIMIT).build()

            fun load(url: String): String =
                client().newCall(request(url)).execute().use { checked(it) }
        }
        """, 5),
    bad(_CLIENT, "csharp", """
        class Api
        {
            private HttpClient Client() => new HttpClient { Timeout = Limit };

            public async Task<string> Load(string url)
            {
                using var client = Client();
                return await client.GetStringAsync(url);
            }
        }
        """, 7),
    bad(_CONNECTION, "python", _REPOSITORY, 5),
    good(_CONNECTION, "python", _REPOSITORY.replace("def name(self, number)", "def migrate(self, number)")),
    # Options have no connections: those are of the agent, or of the transport.
    bad(_CLIENT, "javascript", _AGENT, 10),
    good(_CLIENT, "javascript", _AGENT.replace("{ agent: { http: agent } }", "{ headers }")),
    good(_CLIENT, "javascript", _AGENT.replace("  const agent =", "  const unused =")),
    bad(_CLIENT, "go", _TRANSPORT, 10),
    good(_CLIENT, "go", _TRANSPORT.replace("&http.Transport{}", "shared")),
]  # fmt: skip
