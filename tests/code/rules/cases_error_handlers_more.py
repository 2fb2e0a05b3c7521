"""Functions of Python, JavaScript, Go and Rust for failed requests, with and without a status."""

# ruff: noqa: E101  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ERROR_ANSWERED_AS_SUCCESS = "error-answered-as-success"

CASES = [
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "go",
        """
        package x

        import (
        	"log/slog"
        	"net/http"
        )

        func Recover(next http.Handler) http.Handler {
        	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        		defer func() {
        			if v := recover(); v != nil {
        				slog.Error("panic", "value", v, "path", r.URL.Path)
        			}
        		}()
        		next.ServeHTTP(w, r)
        	})
        }
        """,
        10,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "go",
        """
        package x

        import (
        	"log/slog"
        	"net/http"
        )

        func Recover(next http.Handler) http.Handler {
        	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        		defer func() {
        			if v := recover(); v != nil {
        				slog.Error("panic", "value", v, "path", r.URL.Path)
        				http.Error(w, "internal error", http.StatusInternalServerError)
        			}
        		}()
        		next.ServeHTTP(w, r)
        	})
        }
        """,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "go",
        """
        package x

        import (
        	"context"
        	"log/slog"
        	"net/http"
        )

        func Guard(next http.Handler) http.Handler {
        	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        		defer func() {
        			if v := recover(); v != nil {
        				slog.ErrorContext(context.Background(), "panic", "value", v)
        				panic(v)
        			}
        		}()
        		next.ServeHTTP(w, r)
        	})
        }
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "python",
        """
        import logging
        from flask import Flask, jsonify, request
        from sqlalchemy.exc import SQLAlchemyError
        from .db import session

        app = Flask(__name__)
        log = logging.getLogger(__name__)

        @app.errorhandler(SQLAlchemyError)
        def on_db_error(exc):
            session.rollback()
            log.error("database failed", exc_info=exc)
            return jsonify(code="storage_unavailable", detail="The order was not stored")

        @app.post("/orders")
        def create():
            session.add(Order(**request.get_json()))
            session.commit()
            return jsonify(ok=True), 201
        """,
        13,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "python",
        """
        import logging
        from flask import Flask, jsonify, request
        from sqlalchemy.exc import SQLAlchemyError
        from .db import session

        app = Flask(__name__)
        log = logging.getLogger(__name__)

        @app.errorhandler(SQLAlchemyError)
        def on_db_error(exc):
            session.rollback()
            log.error("database failed", exc_info=exc)
            return jsonify(code="storage_unavailable", detail="The order was not stored"), 503

        @app.post("/orders")
        def create():
            session.add(Order(**request.get_json()))
            session.commit()
            return jsonify(ok=True), 201
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "python",
        """
        import logging
        from fastapi import FastAPI, Request
        from fastapi.responses import JSONResponse
        from asyncpg import PostgresError

        app = FastAPI()
        log = logging.getLogger(__name__)

        @app.exception_handler(PostgresError)
        async def storage_failed(request: Request, exc: PostgresError):
            log.error("storage failed", exc_info=exc)
            return JSONResponse({"code": "storage", "detail": "not stored"})
        """,
        12,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "python",
        """
        import logging
        from fastapi import FastAPI, Request
        from fastapi.responses import JSONResponse
        from asyncpg import PostgresError

        app = FastAPI()
        log = logging.getLogger(__name__)

        @app.exception_handler(PostgresError)
        async def storage_failed(request: Request, exc: PostgresError):
            log.error("storage failed", exc_info=exc)
            return JSONResponse({"code": "storage", "detail": "not stored"}, status_code=503)
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "python",
        """
        import logging
        from fastapi import FastAPI, Request
        from fastapi.responses import JSONResponse

        app = FastAPI()
        log = logging.getLogger(__name__)

        @app.middleware("http")
        async def guard(request: Request, call_next):
            try:
                return await call_next(request)
            except Exception:
                log.exception("request failed")
                return JSONResponse({"detail": "Something went wrong"})
        """,
        14,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "python",
        """
        import logging
        from django.http import JsonResponse

        log = logging.getLogger(__name__)

        class ApiErrors:
            def __init__(self, get_response):
                self.get_response = get_response

            def __call__(self, request):
                return self.get_response(request)

            def process_exception(self, request, exception):
                log.error("request failed", exc_info=exception)
                return JsonResponse({"code": "internal", "detail": "The request could not be processed"})
        """,
        15,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "typescript",
        """
        import { ArgumentsHost, Catch, ExceptionFilter, Logger } from "@nestjs/common";
        import type { Response } from "express";
        import { QueryFailedError } from "typeorm";

        @Catch(QueryFailedError)
        export class StorageFilter implements ExceptionFilter {
          private readonly log = new Logger(StorageFilter.name);

          catch(exception: QueryFailedError, host: ArgumentsHost) {
            this.log.error(exception.message);
            const response = host.switchToHttp().getResponse<Response>();
            response.json({ code: "storage", detail: "not stored" });
          }
        }
        """,
        12,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "typescript",
        """
        import { ArgumentsHost, Catch, ExceptionFilter, HttpStatus } from "@nestjs/common";
        import type { Response } from "express";
        import { QueryFailedError } from "typeorm";

        @Catch(QueryFailedError)
        export class StorageFilter implements ExceptionFilter {
          catch(exception: QueryFailedError, host: ArgumentsHost) {
            const response = host.switchToHttp().getResponse<Response>();
            response.status(HttpStatus.SERVICE_UNAVAILABLE).json({ code: "storage" });
          }
        }
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "typescript",
        """
        import { Hono } from "hono";
        import { log } from "./log";

        export const app = new Hono();
        app.onError((err, c) => {
          log.error({ err }, "request failed");
          return c.json({ code: "internal", detail: "please come back" });
        });
        """,
        7,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "typescript",
        """
        import type { ErrorRequestHandler } from "express";
        import { log } from "./log";

        export const errors: ErrorRequestHandler = (err, req, res, next) => {
          if (res.headersSent) return next(err);
          log.error({ err, path: req.path }, "request failed");
          res.status(err.status ?? 500).json({ code: "internal" });
        };
        """,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "typescript",
        """
        import type { FastifyInstance } from "fastify";

        export function install(app: FastifyInstance) {
          app.setErrorHandler((error, request, reply) => {
            request.log.error(error);
            reply.send({ code: "internal", detail: "please come back" });
          });
        }
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "javascript",
        """
        const log = require("./log");

        module.exports = function errors(err, req, res, _next) {
          log.error({ err }, "request failed");
          res.json({ code: "internal", detail: "please come back" });
        };
        """,
        5,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "javascript",
        """
        const log = require("./log");

        module.exports = async function errors(ctx, next) {
          try {
            await next();
          } catch (err) {
            log.error({ err }, "request failed");
            ctx.body = { code: "internal", detail: "please come back" };
          }
        };
        """,
        8,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "javascript",
        """
        const log = require("./log");

        module.exports = async function errors(ctx, next) {
          try {
            await next();
          } catch (err) {
            log.error({ err }, "request failed");
            ctx.status = err.status || 500;
            ctx.body = { code: "internal", detail: "please come back" };
          }
        };
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "rust",
        """
        use actix_web::{HttpResponse, ResponseError};

        #[derive(Debug, thiserror::Error)]
        pub enum ApiError {
            #[error("storage: {0}")]
            Storage(#[from] sqlx::Error),
        }

        impl ResponseError for ApiError {
            fn error_response(&self) -> HttpResponse {
                tracing::error!(error = %self, "request failed");
                HttpResponse::Ok().json(serde_json::json!({ "code": "storage", "detail": self.to_string() }))
            }
        }
        """,
        12,
    ),
]
