"""Answers whose status is never looked at, and clients whose limit stands elsewhere or nowhere."""

# ruff: noqa: E101, E501  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_STATUS = "unchecked-response-status"
_LIMIT = "http-call-without-timeout"

_GO_PUT = """
        package a

        import (
        	"context"
        	"fmt"
        	"net/http"
        )

        type Sender struct{ client *http.Client }

        func (s *Sender) Put(ctx context.Context, url string) error {
        	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, nil)
        	if err != nil {
        		return err
        	}
        	resp, err := s.client.Do(req)
        	if err != nil {
        		return fmt.Errorf("put: %w", err)
        	}
        	defer resp.Body.Close()
        	CHECK
        	return nil
        }
        """
_GO_CLIENT = """
        package a

        import (
        	"context"
        	"net/http"
        	"time"
        )

        type Api struct{ web *http.Client }

        func New() *Api { return &Api{web: &http.Client{CLIENT}} }

        func (a *Api) Get(ctx context.Context, url string) (*http.Response, error) {
        	LIMIT
        	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
        	if err != nil {
        		return nil, err
        	}
        	return a.web.Do(req)
        }

        var _ = time.Second
        """
_KOTLIN_ANSWER = """
        import retrofit2.Response

        class Points(private val api: PointsApi) {
            suspend fun of(id: Long): Int {
                val answer = api.points(id)
                CHECK
                return answer.body()?.points ?: 0
            }
        }
        """

CASES = [
    bad(_STATUS, "go", _GO_PUT.replace("CHECK", ""), 16),
    good(
        _STATUS,
        "go",
        _GO_PUT.replace("CHECK", "if resp.StatusCode > 299 {\n        		return errRefused\n        	}"),
    ),
    good(_STATUS, "go", _GO_PUT.replace("CHECK", "if err := check(resp); err != nil {\n        		return err\n        	}")),
    bad(_STATUS, "kotlin", _KOTLIN_ANSWER.replace("CHECK", ""), 7),
    good(_STATUS, "kotlin", _KOTLIN_ANSWER.replace("CHECK", "check(answer.isSuccessful)")),
    good(_STATUS, "kotlin", _KOTLIN_ANSWER.replace("import retrofit2.Response", "")),
    bad(_STATUS, "kotlin", """
        class Sync(private val client: okhttp3.OkHttpClient) {
            fun push(json: String) {
                val request = Request.Builder().url(u).put(json.toRequestBody()).build()
                client.newCall(request).execute().close()
            }
        }
        """, 4),
    bad(_STATUS, "java", """
        import java.net.http.*;

        class Sync {
            void push(HttpClient client, String json) throws Exception {
                HttpRequest request = HttpRequest.newBuilder(u).timeout(t).PUT(body(json)).build();
                client.send(request, HttpResponse.BodyHandlers.discarding());
            }
        }
        """, 6),
    good(_STATUS, "java", """
        import java.net.http.*;

        class Sync {
            int push(HttpClient client, String json) throws Exception {
                HttpRequest request = HttpRequest.newBuilder(u).timeout(t).PUT(body(json)).build();
                return client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
            }
        }
        """),
    bad(_STATUS, "rust", """
        async fn push(http: &reqwest::Client, item: &Item) -> anyhow::Result<()> {
            http.put(URL).json(item).send().await.context("push")?;
            Ok(())
        }
        """, 2),
    good(_STATUS, "rust", """
        async fn push(http: &reqwest::Client, item: &Item) -> anyhow::Result<()> {
            http.put(URL).json(item).send().await.context("push")?.error_for_status().context("refused")?;
            Ok(())
        }
        """),
    bad(_STATUS, "typescript", """
        import axios from "axios";
        const http = axios.create({ timeout: 3000, validateStatus: () => true });
        export async function balance(id: string) {
          const { data } = await http.get(`/accounts/${id}`);
          return data.balance;
        }
        """, 4),
    good(_STATUS, "typescript", """
        import axios from "axios";
        const http = axios.create({ timeout: 3000, validateStatus: () => true });
        export async function balance(id: string) {
          const { data, status } = await http.get(`/accounts/${id}`);
          return status === 200 ? data.balance : null;
        }
        """),
    bad(_STATUS, "python", """
        import requests

        def push(item):
            answer = requests.put(URL, json=item, timeout=5)
            item.sent = True
        """, 4),
    bad(_LIMIT, "go", _GO_CLIENT.replace("CLIENT", "").replace("LIMIT", ""), 19),
    good(_LIMIT, "go", _GO_CLIENT.replace("CLIENT", "Timeout: time.Second").replace("LIMIT", "")),
    good(_LIMIT, "go", _GO_CLIENT.replace("CLIENT", "").replace("LIMIT", "ctx, cancel := context.WithTimeout(ctx, time.Second)\n        	defer cancel()")),
    bad(_LIMIT, "kotlin", """
        import io.ktor.client.HttpClient
        import io.ktor.client.engine.okhttp.OkHttp

        class Rates {
            private val http = HttpClient(OkHttp) { expectSuccess = true }
        }
        """, 5),
    good(_LIMIT, "kotlin", """
        import io.ktor.client.HttpClient
        import io.ktor.client.engine.okhttp.OkHttp

        class Rates {
            private val http = HttpClient(OkHttp) { install(HttpTimeout) { requestTimeoutMillis = 4000 } }
        }
        """),
    bad(_LIMIT, "kotlin", """
        import java.net.URI

        fun load(address: String) = URI(address).toURL().readText()
        """, 3),
    good(_LIMIT, "java", """
        import org.springframework.web.reactive.function.client.WebClient;

        class Points {
            private final WebClient client;

            Points(WebClient.Builder builder) { client = builder.baseUrl("https://a.example").build(); }

            Integer of(long id) {
                return client.get().uri("/p/{id}", id).retrieve().bodyToMono(Integer.class).block(LIMIT);
            }
        }
        """),
    bad(_LIMIT, "typescript", """
        export class Api {
          private async send(path: string, init: RequestInit = {}) {
            const res = await fetch(this.base + path, { ...init, headers: HEADERS });
            return res.ok ? res.json() : null;
          }
          user(id: string) { return this.send(`/users/${id}`); }
        }
        """, 3),
    good(_LIMIT, "typescript", """
        export class Api {
          private async send(path: string, init: RequestInit = {}) {
            const res = await fetch(this.base + path, { ...init, headers: HEADERS });
            return res.ok ? res.json() : null;
          }
          user(id: string) { return this.send(`/users/${id}`, { signal: AbortSignal.timeout(900) }); }
        }
        """),
    bad(_LIMIT, "javascript", """
        import { Pool } from "undici";
        export const pool = new Pool(origin, { headersTimeout: 0, bodyTimeout: 9000 });
        """, 2),
]  # fmt: skip
