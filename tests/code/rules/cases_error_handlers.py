"""Functions of Spring, ASP.NET and net/http for failed requests, with and without a status."""

# ruff: noqa: E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ERROR_ANSWERED_AS_SUCCESS = "error-answered-as-success"

CASES = [
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "java",
        """
        package x;
        import org.slf4j.*;
        import org.springframework.dao.DataAccessException;
        import org.springframework.web.bind.annotation.*;

        @RestControllerAdvice
        public class StorageAdvice {
            private static final Logger log = LoggerFactory.getLogger(StorageAdvice.class);

            @ExceptionHandler(DataAccessException.class)
            public ErrorBody storage(DataAccessException e) {
                log.error("storage", e);
                return new ErrorBody("storage_unavailable", "try later");
            }

            record ErrorBody(String code, String detail) {}
        }
        """,
        13,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "java",
        """
        package x;
        import java.util.Map;
        import org.springframework.web.bind.annotation.*;

        @RestControllerAdvice
        public class StorageAdvice {
            @ExceptionHandler
            public Map<String, String> any(Exception e) {
                return Map.of("code", "internal", "detail", e.getMessage());
            }
        }
        """,
        9,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "java",
        """
        package x;
        import org.slf4j.*;
        import org.springframework.dao.DataAccessException;
        import org.springframework.web.bind.annotation.*;

        @RestControllerAdvice
        public class StorageAdvice {
            private static final Logger log = LoggerFactory.getLogger(StorageAdvice.class);

            @ExceptionHandler(DataAccessException.class)
            public void storage(DataAccessException e) {
                log.error("storage", e);
            }
        }
        """,
        10,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "java",
        """
        package x;
        import org.slf4j.*;
        import org.springframework.dao.DataAccessException;
        import org.springframework.http.*;
        import org.springframework.web.bind.annotation.*;

        @RestControllerAdvice
        public class StorageAdvice {
            private static final Logger log = LoggerFactory.getLogger(StorageAdvice.class);

            @ExceptionHandler(DataAccessException.class)
            public ProblemDetail storage(DataAccessException e) {
                log.error("storage", e);
                return ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE, "storage failed");
            }

            @ExceptionHandler(IllegalStateException.class)
            public ResponseEntity<ErrorBody> state(IllegalStateException e) {
                return ResponseEntity.status(409).body(new ErrorBody("state", "failed"));
            }

            @ExceptionHandler(NotFound.class)
            @ResponseStatus(HttpStatus.NOT_FOUND)
            public ErrorBody missing(NotFound e) {
                return new ErrorBody("missing", "error");
            }

            @ExceptionHandler(Broken.class)
            public void broken(Broken e, jakarta.servlet.http.HttpServletResponse response) throws java.io.IOException {
                response.sendError(500);
            }

            record ErrorBody(String code, String detail) {}
        }
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "java",
        """
        package x;
        import jakarta.ws.rs.core.Response;
        import jakarta.ws.rs.ext.*;

        @Provider
        public class StorageMapper implements ExceptionMapper<PersistenceException> {
            @Override
            public Response toResponse(PersistenceException e) {
                return Response.ok(new Problem("storage", "not stored")).build();
            }
        }
        """,
        9,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "kotlin",
        """
        package x
        import org.slf4j.LoggerFactory
        import org.springframework.dao.DataAccessException
        import org.springframework.web.bind.annotation.*

        @RestControllerAdvice
        class StorageAdvice {
            private val log = LoggerFactory.getLogger(javaClass)

            @ExceptionHandler(DataAccessException::class)
            fun storage(e: DataAccessException): Problem {
                log.error("storage", e)
                return Problem("storage_unavailable", "The booking was not stored")
            }

            data class Problem(val code: String, val detail: String)
        }
        """,
        13,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "kotlin",
        """
        package x
        import org.springframework.dao.DataAccessException
        import org.springframework.web.bind.annotation.*

        @RestControllerAdvice
        class StorageAdvice {
            @ExceptionHandler(DataAccessException::class)
            fun storage(e: DataAccessException) = Problem("storage_unavailable", "The booking was not stored")
            data class Problem(val code: String, val detail: String)
        }
        """,
        7,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "kotlin",
        """
        package x
        import org.springframework.dao.DataAccessException
        import org.springframework.http.*
        import org.springframework.web.bind.annotation.*

        @RestControllerAdvice
        class StorageAdvice {
            @ExceptionHandler(DataAccessException::class)
            @ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
            fun storage(e: DataAccessException) = Problem("storage_unavailable", "The booking was not stored")

            @ExceptionHandler(IllegalStateException::class)
            fun other(e: IllegalStateException): ResponseEntity<Problem> =
                ResponseEntity.status(HttpStatus.CONFLICT).body(Problem("state", "failed"))
            data class Problem(val code: String, val detail: String)
        }
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "kotlin",
        """
        package x
        import io.ktor.server.application.*
        import io.ktor.server.plugins.statuspages.*
        import io.ktor.server.response.*

        fun Application.errors() {
            install(StatusPages) {
                exception<java.sql.SQLException> { call, cause ->
                    call.application.environment.log.error("storage", cause)
                    call.respond(Problem("storage", "The booking was not stored"))
                }
            }
        }
        """,
        10,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "csharp",
        """
        using Microsoft.AspNetCore.Mvc;
        using Microsoft.AspNetCore.Mvc.Filters;
        using Microsoft.Extensions.Logging;

        public class ApiExceptionFilter : IExceptionFilter
        {
            private readonly ILogger<ApiExceptionFilter> _log;
            public ApiExceptionFilter(ILogger<ApiExceptionFilter> log) => _log = log;

            public void OnException(ExceptionContext context)
            {
                _log.LogError(context.Exception, "request failed");
                context.Result = new JsonResult(new { code = "internal", detail = "The request failed" });
                context.ExceptionHandled = true;
            }
        }
        """,
        13,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "csharp",
        """
        using Microsoft.AspNetCore.Mvc;
        using Microsoft.AspNetCore.Mvc.Filters;
        using Microsoft.Extensions.Logging;

        public class ApiExceptionFilter : IExceptionFilter
        {
            private readonly ILogger<ApiExceptionFilter> _log;
            public ApiExceptionFilter(ILogger<ApiExceptionFilter> log) => _log = log;

            public void OnException(ExceptionContext context)
            {
                _log.LogError(context.Exception, "request failed");
                context.Result = new JsonResult(new { code = "internal", detail = "The request failed" }) { StatusCode = 500 };
                context.ExceptionHandled = true;
            }
        }
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.AspNetCore.Http;
        using Microsoft.Extensions.Logging;

        public class ErrorMiddleware
        {
            private readonly RequestDelegate _next;
            private readonly ILogger<ErrorMiddleware> _log;
            public ErrorMiddleware(RequestDelegate next, ILogger<ErrorMiddleware> log) { _next = next; _log = log; }

            public async Task InvokeAsync(HttpContext context)
            {
                try { await _next(context); }
                catch (Exception e)
                {
                    _log.LogError(e, "request failed");
                    await context.Response.WriteAsJsonAsync(new Problem("internal", "please come back"));
                }
            }
        }
        """,
        18,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.AspNetCore.Http;
        using Microsoft.Extensions.Logging;

        public class ErrorMiddleware
        {
            private readonly RequestDelegate _next;
            private readonly ILogger<ErrorMiddleware> _log;
            public ErrorMiddleware(RequestDelegate next, ILogger<ErrorMiddleware> log) { _next = next; _log = log; }

            public async Task InvokeAsync(HttpContext context)
            {
                try { await _next(context); }
                catch (Exception e)
                {
                    _log.LogError(e, "request failed");
                }
            }
        }
        """,
        15,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.AspNetCore.Http;
        using Microsoft.Extensions.Logging;

        public class ErrorMiddleware
        {
            private readonly RequestDelegate _next;
            private readonly ILogger<ErrorMiddleware> _log;
            public ErrorMiddleware(RequestDelegate next, ILogger<ErrorMiddleware> log) { _next = next; _log = log; }

            public async Task InvokeAsync(HttpContext context)
            {
                try { await _next(context); }
                catch (Exception e)
                {
                    _log.LogError(e, "request failed");
                    await WriteAsync(context, e);
                }
            }

            private static async Task WriteAsync(HttpContext context, Exception e)
            {
                context.Response.StatusCode = StatusCodes.Status500InternalServerError;
                await context.Response.WriteAsJsonAsync(new { code = "internal" });
            }
        }
        """,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.AspNetCore.Http;
        using Microsoft.Extensions.Logging;

        public class TimingMiddleware
        {
            private readonly RequestDelegate _next;
            private readonly ILogger<TimingMiddleware> _log;
            public TimingMiddleware(RequestDelegate next, ILogger<TimingMiddleware> log) { _next = next; _log = log; }

            public async Task InvokeAsync(HttpContext context)
            {
                try { await _next(context); }
                catch (Exception e)
                {
                    _log.LogError(e, "request failed");
                    throw;
                }
            }
        }
        """,
    ),
    bad(
        _ERROR_ANSWERED_AS_SUCCESS,
        "java",
        r"""
        package x;
        import jakarta.servlet.*;
        import jakarta.servlet.http.*;
        import java.io.IOException;

        public class Errors extends HttpFilter {
            @Override
            protected void doFilter(HttpServletRequest req, HttpServletResponse res, FilterChain chain) throws IOException, ServletException {
                try {
                    chain.doFilter(req, res);
                } catch (Exception e) {
                    res.setContentType("application/json");
                    res.getWriter().write("{\"code\":\"internal\"}");
                }
            }
        }
        """,
        13,
    ),
    good(
        _ERROR_ANSWERED_AS_SUCCESS,
        "java",
        r"""
        package x;
        import jakarta.servlet.*;
        import jakarta.servlet.http.*;
        import java.io.IOException;

        public class Errors extends HttpFilter {
            @Override
            protected void doFilter(HttpServletRequest req, HttpServletResponse res, FilterChain chain) throws IOException, ServletException {
                try {
                    chain.doFilter(req, res);
                } catch (RuntimeException e) {
                    res.setStatus(500);
                    res.getWriter().write("{\"code\":\"internal\"}");
                }
            }
        }
        """,
    ),
]
