"""Clients of less common libraries, and wrappers of fetch, without a limit of time."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_BLOCKING_CALL_IN_ASYNC_CODE = "blocking-call-in-async-code"
_DATABASE_WITHOUT_TIMEOUT = "database-without-timeout"
_FUTURE_WITHOUT_TIMEOUT = "future-without-timeout"
_GRPC_CALL_WITHOUT_DEADLINE = "grpc-call-without-deadline"
_HTTP_CALL_WITHOUT_TIMEOUT = "http-call-without-timeout"
_SOCKET_WITHOUT_TIMEOUT = "socket-without-timeout"

CASES: list[Case] = [
    bad(
        _FUTURE_WITHOUT_TIMEOUT,
        "java",
        """
        import java.util.List;
        import java.util.concurrent.CompletableFuture;
        import java.util.concurrent.Executor;
        public class BoardAssembler {
            private final List<Source> sources;
            private final Executor executor;
            public BoardAssembler(List<Source> sources, Executor executor) {
                this.sources = sources;
                this.executor = executor;
            }
            public Board assemble(String station) {
                List<CompletableFuture<Section>> sections = sources.stream()
                    .map(source -> CompletableFuture.supplyAsync(() -> source.load(station), executor))
                    .toList();
                return new Board(sections.stream().map(CompletableFuture::join).toList());
            }
        }
        """,
        15,
    ),
    good(
        _FUTURE_WITHOUT_TIMEOUT,
        "java",
        """
        import java.util.List;
        import java.util.concurrent.CompletableFuture;
        import java.util.concurrent.Executor;
        import java.util.concurrent.TimeUnit;
        public class BoardAssembler {
            private final List<Source> sources;
            private final Executor executor;
            public BoardAssembler(List<Source> sources, Executor executor) {
                this.sources = sources;
                this.executor = executor;
            }
            public Board assemble(String station) {
                List<CompletableFuture<Section>> sections = sources.stream()
                    .map(source -> CompletableFuture.supplyAsync(() -> source.load(station), executor)
                        .completeOnTimeout(Section.missing(source.name()), 800, TimeUnit.MILLISECONDS))
                    .toList();
                return new Board(sections.stream().map(CompletableFuture::join).toList());
            }
        }
        """,
    ),
    bad(
        _DATABASE_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import "github.com/redis/go-redis/v9"
        func New(addr string) *redis.Client {
        	return redis.NewClient(&redis.Options{
        		Addr:        addr,
        		ReadTimeout: -1,
        		PoolSize:    20,
        	})
        }
        """,
        6,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "python",
        """
        import httpx
        class Completions:
            def __init__(self, base_url: str) -> None:
                self._client = httpx.AsyncClient(base_url=base_url, timeout=httpx.Timeout(5.0, read=None))
            async def complete(self, prompt: str) -> str:
                response = await self._client.post("/v1/complete", json={"prompt": prompt})
                response.raise_for_status()
                return response.json()["text"]
        """,
        4,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import (
        	"encoding/json"
        	"fmt"
        	"github.com/valyala/fasthttp"
        )
        var client = &fasthttp.Client{MaxConnsPerHost: 64}
        func Lookup(ip string) (*Place, error) {
        	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
        	defer fasthttp.ReleaseRequest(req)
        	defer fasthttp.ReleaseResponse(resp)
        	req.SetRequestURI("https://geo.example/" + ip)
        	if err := client.Do(req, resp); err != nil {
        		return nil, err
        	}
        	if resp.StatusCode() != fasthttp.StatusOK {
        		return nil, fmt.Errorf("geo answered %d", resp.StatusCode())
        	}
        	var place Place
        	return &place, json.Unmarshal(resp.Body(), &place)
        }
        """,
        7,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "java",
        """
        import jakarta.xml.ws.BindingProvider;
        import java.net.URL;
        public class VatClient {
            private final CheckVatPortType port;
            public VatClient(URL wsdl) {
                port = new CheckVatService(wsdl).getCheckVatPort();
                ((BindingProvider) port).getRequestContext()
                    .put("com.sun.xml.ws.connect.timeout", 3_000);
            }
            public boolean isValid(String country, String number) {
                return port.checkVat(country, number).isValid();
            }
        }
        """,
        8,
    ),
    bad(
        _GRPC_CALL_WITHOUT_DEADLINE,
        "javascript",
        """
        const grpc = require('@grpc/grpc-js');
        const { promisify } = require('node:util');
        const { PricingClient } = require('./gen/pricing_grpc_pb');
        const client = new PricingClient(process.env.PRICING, grpc.credentials.createInsecure());
        const quote = promisify(client.quote.bind(client));
        async function price(sku) {
          const answer = await quote({ sku });
          return answer.cents;
        }
        module.exports = { price };
        """,
        7,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "rust",
        """
        use http_body_util::{BodyExt, Empty};
        use hyper::body::Bytes;
        use hyper_util::{client::legacy::{connect::HttpConnector, Client}, rt::TokioExecutor};
        pub struct Origin {
            client: Client<HttpConnector, Empty<Bytes>>,
        }
        impl Origin {
            pub fn new() -> Self {
                Self { client: Client::builder(TokioExecutor::new()).build_http() }
            }
            pub async fn fetch(&self, uri: hyper::Uri) -> anyhow::Result<Bytes> {
                let response = self.client.get(uri).await?;
                anyhow::ensure!(response.status().is_success(), "origin answered {}", response.status());
                Ok(response.into_body().collect().await?.to_bytes())
            }
        }
        """,
        12,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "typescript",
        """
        import { GraphQLClient, gql } from 'graphql-request';
        const client = new GraphQLClient(process.env.CRM_URL!, { headers: { authorization: `Bearer ${process.env.CRM_TOKEN}` } });
        export async function contact(id: string): Promise<Contact> {
          const { contact } = await client.request<{ contact: Contact }>(CONTACT, { id });
          return contact;
        }
        const CONTACT = gql`
          query ($id: ID!) { contact(id: $id) { id name } }
        `;
        """,
        2,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "typescript",
        """
        import ky from 'ky';
        const api = ky.create({ prefixUrl: process.env.API_URL, timeout: false, retry: 2 });
        export const stations = () => api.get('stations').json<Station[]>();
        """,
        2,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "typescript",
        """
        type Fetch = typeof fetch;
        export class CatalogClient {
          constructor(private readonly baseUrl: string, private readonly fetchImpl: Fetch = fetch) {}
          private async call<T>(path: string, init: RequestInit = {}): Promise<T> {
            const res = await this.fetchImpl(new URL(path, this.baseUrl), {
              ...init,
              headers: { accept: 'application/json', ...init.headers },
            });
            if (!res.ok) throw new Error(`catalog answered ${res.status}`);
            return (await res.json()) as T;
          }
          product(id: string): Promise<Product> {
            return this.call(`/products/${encodeURIComponent(id)}`);
          }
        }
        """,
        5,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "kotlin",
        """
        import io.ktor.server.response.respond
        import io.ktor.server.routing.Route
        import io.ktor.server.routing.get
        import javax.sql.DataSource
        class StockRepository(private val dataSource: DataSource) {
            fun quantity(sku: String): Int =
                dataSource.connection.use { connection ->
                    connection.prepareStatement("SELECT quantity FROM stock WHERE sku = ?").use { statement ->
                        statement.setString(1, sku)
                        statement.executeQuery().use { rows -> if (rows.next()) rows.getInt(1) else 0 }
                    }
                }
        }
        fun Route.stock(repository: StockRepository) {
            get("/stock/{sku}") {
                call.respond(repository.quantity(call.parameters["sku"]!!))
            }
        }
        """,
        16,
    ),
]
