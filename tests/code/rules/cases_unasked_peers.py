"""Peers, programs and replies that are waited for although they may be gone."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_BLOCKING_CALL_IN_ASYNC_CODE = "blocking-call-in-async-code"
_FUTURE_WITHOUT_TIMEOUT = "future-without-timeout"
_SOCKET_WITHOUT_TIMEOUT = "socket-without-timeout"
_SUBPROCESS_WITHOUT_TIMEOUT = "subprocess-without-timeout"

CASES: list[Case] = [
    bad(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "javascript",
        """
        import { spawn } from 'node:child_process';
        export function transcode(input, output) {
          return new Promise((resolve, reject) => {
            const child = spawn('ffmpeg', ['-i', input, output], { stdio: 'ignore' });
            child.on('error', reject);
            child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`ffmpeg ended with ${code}`))));
          });
        }
        """,
        4,
    ),
    good(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "javascript",
        """
        import { spawn } from 'node:child_process';
        export function transcode(input, output) {
          return new Promise((resolve, reject) => {
            const child = spawn('ffmpeg', ['-i', input, output], { stdio: 'ignore', timeout: 300_000, killSignal: 'SIGKILL' });
            child.on('error', reject);
            child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`ffmpeg ended with ${code}`))));
          });
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Net.WebSockets;
        public sealed class VehicleFeed
        {
            private readonly Uri _uri;
            private readonly IVehicleSink _sink;
            public VehicleFeed(Uri uri, IVehicleSink sink)
            {
                _uri = uri;
                _sink = sink;
            }
            public async Task RunAsync(CancellationToken stoppingToken)
            {
                using var socket = new ClientWebSocket();
                using (var connect = CancellationTokenSource.CreateLinkedTokenSource(stoppingToken))
                {
                    connect.CancelAfter(TimeSpan.FromSeconds(10));
                    await socket.ConnectAsync(_uri, connect.Token);
                }
                var buffer = new byte[16 * 1024];
                while (socket.State == WebSocketState.Open)
                {
                    var result = await socket.ReceiveAsync(buffer, stoppingToken);
                    await _sink.WriteAsync(buffer.AsMemory(0, result.Count), stoppingToken);
                }
            }
        }
        """,
        22,
    ),
    bad(
        _FUTURE_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import "context"
        type call struct {
        	request []byte
        	reply   chan []byte
        }
        type Client struct {
        	calls chan call
        }
        func (c *Client) Ask(ctx context.Context, request []byte) []byte {
        	pending := call{request: request, reply: make(chan []byte, 1)}
        	c.calls <- pending
        	return <-pending.reply
        }
        """,
        13,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import socket
        import ssl
        def certificate(host: str, port: int = 443) -> dict:
            context = ssl.create_default_context()
            with socket.socket(socket.AF_INET) as raw:
                with context.wrap_socket(raw, server_hostname=host) as tls:
                    tls.connect((host, port))
                    return tls.getpeercert()
        """,
        7,
    ),
    good(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "python",
        """
        from contextlib import asynccontextmanager
        import joblib
        from fastapi import FastAPI
        @asynccontextmanager
        async def lifespan(app: FastAPI):
            app.state.model = joblib.load("/srv/models/churn.joblib")
            yield
        app = FastAPI(lifespan=lifespan)
        """,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "python",
        """
        import fcntl
        from aiohttp import web
        async def claim(request: web.Request) -> web.Response:
            with open("/var/lib/app/claims.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                number = await request.app["claims"].next()
            return web.json_response({"number": number})
        """,
        4,
        5,
    ),
]
