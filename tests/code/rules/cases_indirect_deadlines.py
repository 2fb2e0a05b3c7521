"""Calls of gRPC through a wrapper, options or a context that carries no deadline."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "grpc-call-without-deadline"

_OPTIONS = """
        using Grpc.Core;

        class Rates {
            private readonly Tariffs.TariffsClient _client;

            public async Task<Quote> QuoteAsync(QuoteRequest request) {
                var options = new CallOptions(headers: Caller());
                return await _client.GetAsync(request, options);
            }
        }
        """
_GETATTR = """
        import grpc
        from rates_pb2_grpc import RatesStub

        class Rates:
            def __init__(self, channel):
                self._stub = RatesStub(channel)

            def _call(self, name, message):
                rpc = getattr(self._stub, name)
                return rpc(message, metadata=META)
        """
_GIVEN = """
        import grpc
        from rates_pb2_grpc import RatesStub

        class Rates:
            def _send(self, rpc, message):
                return rpc(message, metadata=META)

            def quote(self, message):
                return self._send(self._stub.Quote, message)
        """
_DETACHED = """
        package audit

        import (
            "context"

            "google.golang.org/grpc/metadata"
            ledgerpb "example.com/gen/ledger/v1"
        )

        type Trail struct {
            ledger ledgerpb.LedgerClient
        }

        func (t *Trail) Record(ctx context.Context, id string) error {
            ctx = context.WithoutCancel(ctx)
            ctx = metadata.AppendToOutgoingContext(ctx, "x-source", "web")
            _, err := t.ledger.Append(ctx, &ledgerpb.AppendRequest{Id: id})
            return err
        }
        """
_CALL = """
        import * as grpc from "@grpc/grpc-js";

        export function unary(method, client) {
          return (request) =>
            new Promise((resolve, reject) => {
              const metadata = new grpc.Metadata();
              method.call(client, request, metadata, {}, (err, reply) => settle(err, reply));
            });
        }
        """
_METHOD = """
        import * as grpc from "@grpc/grpc-js";

        export function read(client, request, done) {
          const metadata = new grpc.Metadata();
          client.read(request, metadata, (err, reply) => done(err, reply));
        }
        """
_PROMISED = """
        import * as grpc from "@grpc/grpc-js";
        import { promisify } from "node:util";
        import { RatesClient } from "./gen/rates";

        export class Rates {
          constructor(private readonly client: RatesClient) {
            this.get = promisify(client.get.bind(client));
          }

          async rate(code: string) {
            return await this.get({ code });
          }
        }
        """

CASES = [
    bad(_RULE, "typescript", _PROMISED, 11),
    good(_RULE, "typescript", _PROMISED.replace("{ code });", "{ code }, { deadline: soon() });")),
    bad(_RULE, "csharp", _OPTIONS, 8),
    good(_RULE, "csharp", _OPTIONS.replace("Caller()", "Caller(), deadline: Soon()")),
    good(_RULE, "csharp", _OPTIONS.replace("new CallOptions(headers: Caller())", "Options()")),
    good(_RULE, "csharp", _OPTIONS.replace("Caller()", "Caller(), cancellationToken: limit.Token")),
    bad(_RULE, "python", _GETATTR, 10),
    good(_RULE, "python", _GETATTR.replace("=META", "=META, timeout=2")),
    good(_RULE, "python", _GETATTR.replace("getattr(self._stub", "getattr(self._table")),
    bad(_RULE, "python", _GIVEN, 6),
    good(_RULE, "python", _GIVEN.replace("=META", "=META, timeout=2")),
    good(_RULE, "python", _GIVEN.replace("self._stub.Quote", "self.quoted")),
    bad(_RULE, "go", _DETACHED, 17),
    good(_RULE, "go", _DETACHED.replace("context.WithoutCancel(ctx)", "stamped(ctx)")),
    bad(_RULE, "javascript", _CALL, 7),
    good(_RULE, "javascript", _CALL.replace("{},", "{ deadline: Date.now() + 2000 },")),
    good(_RULE, "javascript", _CALL.replace("{},", "options,")),
    bad(_RULE, "javascript", _METHOD, 5),
    good(_RULE, "javascript", _METHOD.replace("metadata, (err", "metadata, options, (err")),
]  # fmt: skip
