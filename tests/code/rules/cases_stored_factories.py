"""Clients that a stored function, a middleware or a method of the same object makes for each call."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "http-client-per-call"

_CSHARP = """
        using RestSharp;

        class Vat {
            private readonly Func<RestClient> _connect;

            public Vat(Uri url) {
                _connect = () => new RestClient(url);
            }

            public async Task<Answer> Check(string number, CancellationToken ct) {
                using var client = _connect();
                return await client.GetAsync<Answer>(new RestRequest(number), ct);
            }
        }
        """
_KOTLIN = """
        import io.ktor.client.HttpClient
        import io.ktor.client.engine.cio.CIO

        class Rates {
            private val connect = { HttpClient(CIO) }

            suspend fun rate(code: String): String {
                val client = connect()
                return client.get("/rates/$code").body()
            }
        }
        """
_HONO = """
        import { S3Client } from "@aws-sdk/client-s3";

        function createS3() {
          return new S3Client({ region: "eu" });
        }

        export const storage = async (c, next) => {
          c.set("s3", createS3());
          await next();
        };
        """
_RUST = """
        use tonic::transport::{Channel, Endpoint};
        use crate::pb::points_client::PointsClient;

        struct Bridge {
            endpoint: Endpoint,
        }

        impl Bridge {
            async fn points(&self) -> Result<PointsClient<Channel>, Status> {
                let channel = self.endpoint.connect().await.map_err(|_| Status::unavailable("x"))?;
                Ok(PointsClient::new(channel).max_decoding_message_size(1024))
            }

            pub async fn balance(&self, member: u64) -> Result<i64, Status> {
                let reply = self.points().await?.balance(member).await?;
                Ok(reply.into_inner().points)
            }
        }
        """
_GO = """
        package rates

        import (
            "google.golang.org/grpc"
            pb "example.com/gen/rates"
        )

        func (c *Rates) client() (pb.RatesClient, error) {
            conn, err := grpc.NewClient(c.target)
            if err != nil {
                return nil, err
            }
            return pb.NewRatesClient(conn), nil
        }

        func (c *Rates) Rate(ctx context.Context, code string) (*pb.Rate, error) {
            client, err := c.client()
            if err != nil {
                return nil, err
            }
            return client.Get(ctx, &pb.GetRequest{Code: code})
        }
        """
_PYTHON = """
        import httpx

        def _client(token):
            return httpx.Client(headers={"Authorization": token})

        def deliver(push, token):
            with _client(token) as http:
                http.post("/send", json=push).raise_for_status()

        def send(pushes, token):
            for push in pushes:
                deliver(push, token)
        """
_MANY = """
        import httpx

        def _client(token):
            return httpx.Client(headers={"Authorization": token})

        def send(pushes, token):
            with _client(token) as http:
                for push in pushes:
                    http.post("/send", json=push).raise_for_status()
        """
_CONTROLLER = """
        class RatesController : ControllerBase {
            private readonly HttpClient _http;

            public RatesController() {
                _http = new HttpClient { Timeout = Limit };
            }
        }
        """

CASES = [
    bad(_RULE, "csharp", _CONTROLLER, 5),
    good(_RULE, "csharp", _CONTROLLER.replace(" : ControllerBase", "")),
    good(_RULE, "csharp", _CONTROLLER.replace("public Rates", "static Rates").replace("private", "private static")),
    good(_RULE, "csharp", _CONTROLLER.replace("new HttpClient", "new HttpClient(Shared)")),
    bad(_RULE, "csharp", _CSHARP, 11),
    good(_RULE, "csharp", _CSHARP.replace("() => new", "new").replace("_connect();", "_connect;")),
    bad(_RULE, "kotlin", _KOTLIN, 8),
    good(_RULE, "kotlin", _KOTLIN.replace("= { HttpClient(CIO) }", "= HttpClient(CIO)").replace("connect()", "connect")),
    bad(_RULE, "typescript", _HONO, 8),
    good(_RULE, "typescript", _HONO.replace("createS3());", "shared);")),
    good(_RULE, "typescript", _HONO.replace("async (c, next)", "async (app)").replace("await next()", "app.ready()").replace("c.set", "app.set")),
    bad(_RULE, "rust", _RUST, 15),
    good(_RULE, "rust", _RUST.replace("self.endpoint.connect().await.map_err(|_| Status::unavailable(\"x\"))?", "self.channel.clone()")),
    bad(_RULE, "go", _GO, 17),
    good(_RULE, "go", _GO.replace("grpc.NewClient(c.target)", "c.shared(c.target)")),
    bad(_RULE, "python", _PYTHON, 7),
    good(_RULE, "python", _MANY),
]  # fmt: skip
