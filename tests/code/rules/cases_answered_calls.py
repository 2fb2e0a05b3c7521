"""Remote procedures whose failure is logged and answered with success."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_FAILURE_ONLY_LOGGED = "failure-only-logged"

CASES = [
    bad(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        import grpc
        from . import stock_pb2, stock_pb2_grpc

        log = logging.getLogger(__name__)

        class Stock(stock_pb2_grpc.StockServicer):
            def __init__(self, repo):
                self._repo = repo

            def Reserve(self, request, context):
                try:
                    self._repo.reserve(request.sku, request.count)
                except Exception:
                    log.exception("reservation of %s failed", request.sku)
                return stock_pb2.ReserveReply(sku=request.sku)
        """,
        14,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        import grpc
        from . import stock_pb2, stock_pb2_grpc

        log = logging.getLogger(__name__)

        class Stock(stock_pb2_grpc.StockServicer):
            def __init__(self, repo):
                self._repo = repo

            def Reserve(self, request, context):
                try:
                    self._repo.reserve(request.sku, request.count)
                except Exception:
                    log.exception("reservation of %s failed", request.sku)
                    context.abort(grpc.StatusCode.UNAVAILABLE, "stock")
                return stock_pb2.ReserveReply(sku=request.sku)
        """,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "go",
        """
        package x

        import (
        	"context"
        	"log/slog"

        	pb "example.com/stock"
        )

        func (s *Server) Reserve(ctx context.Context, req *pb.ReserveRequest) (*pb.ReserveReply, error) {
        	if err := s.repo.Reserve(ctx, req.Sku, req.Count); err != nil {
        		slog.Error("reserve", "err", err)
        	}
        	return &pb.ReserveReply{Sku: req.Sku}, nil
        }
        """,
        11,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "go",
        """
        package x

        import (
        	"context"
        	"log/slog"

        	pb "example.com/stock"
        )

        func (s *Server) Reserve(ctx context.Context, req *pb.ReserveRequest) (*pb.ReserveReply, error) {
        	if err := s.repo.Reserve(ctx, req.Sku, req.Count); err != nil {
        		slog.Error("reserve", "err", err)
        		return &pb.ReserveReply{}, nil
        	}
        	return &pb.ReserveReply{Sku: req.Sku}, nil
        }
        """,
        11,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "go",
        """
        package x

        import (
        	"context"
        	"log/slog"

        	"google.golang.org/grpc/codes"
        	"google.golang.org/grpc/status"
        	pb "example.com/stock/stockpb"
        )

        func (s *Server) Reserve(ctx context.Context, req *pb.ReserveRequest) (*pb.ReserveReply, error) {
        	if err := s.repo.Reserve(ctx, req.Sku, req.Count); err != nil {
        		slog.Error("reserve", "err", err)
        		return nil, status.Error(codes.Unavailable, "stock")
        	}
        	return &pb.ReserveReply{Sku: req.Sku}, nil
        }
        """,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "java",
        """
        package x;
        import io.grpc.stub.StreamObserver;
        import org.slf4j.*;

        public class StockService extends StockGrpc.StockImplBase {
            private static final Logger log = LoggerFactory.getLogger(StockService.class);
            private final StockRepo repo;
            StockService(StockRepo repo) { this.repo = repo; }

            @Override
            public void reserve(ReserveRequest request, StreamObserver<ReserveReply> out) {
                try {
                    repo.reserve(request.getSku(), request.getCount());
                } catch (RuntimeException e) {
                    log.error("reserve {}", request.getSku(), e);
                }
                out.onNext(ReserveReply.newBuilder().setSku(request.getSku()).build());
                out.onCompleted();
            }
        }
        """,
        14,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "java",
        """
        package x;
        import io.grpc.Status;
        import io.grpc.stub.StreamObserver;
        import org.slf4j.*;

        public class StockService extends StockGrpc.StockImplBase {
            private static final Logger log = LoggerFactory.getLogger(StockService.class);
            private final StockRepo repo;
            StockService(StockRepo repo) { this.repo = repo; }

            @Override
            public void reserve(ReserveRequest request, StreamObserver<ReserveReply> out) {
                try {
                    repo.reserve(request.getSku(), request.getCount());
                } catch (RuntimeException e) {
                    log.error("reserve {}", request.getSku(), e);
                    out.onError(Status.UNAVAILABLE.asRuntimeException());
                    return;
                }
                out.onNext(ReserveReply.newBuilder().setSku(request.getSku()).build());
                out.onCompleted();
            }
        }
        """,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "typescript",
        """
        import * as grpc from "@grpc/grpc-js";
        import { repo } from "./repo";
        import { log } from "./log";

        export const reserve: grpc.handleUnaryCall<ReserveRequest, ReserveReply> = async (call, callback) => {
          try {
            await repo.reserve(call.request.sku, call.request.count);
          } catch (err) {
            log.error({ err }, "reserve failed");
          }
          callback(null, { sku: call.request.sku });
        };
        """,
        8,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "rust",
        """
        use tonic::{Request, Response, Status};

        #[tonic::async_trait]
        impl Stock for StockService {
            async fn reserve(&self, request: Request<ReserveRequest>) -> Result<Response<ReserveReply>, Status> {
                let request = request.into_inner();
                if let Err(e) = self.repo.reserve(&request.sku, request.count).await {
                    tracing::error!(error = %e, "reservation failed");
                }
                Ok(Response::new(ReserveReply { sku: request.sku }))
            }
        }
        """,
        7,
    ),
]
