"""Peers, programs and replies that are waited for although they may be gone."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

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
        "kotlin",
        """
        import io.ktor.server.application.Application
        import io.ktor.server.application.install
        import io.ktor.server.routing.routing
        import io.ktor.server.websocket.WebSockets
        import io.ktor.server.websocket.webSocket
        import io.ktor.websocket.Frame
        import io.ktor.websocket.readText
        fun Application.live(hub: Hub) {
            install(WebSockets) {
                maxFrameSize = 65_536
            }
            routing {
                webSocket("/vehicles/{id}") {
                    val id = call.parameters["id"]!!
                    hub.joined(id, this)
                    try {
                        for (frame in incoming) if (frame is Frame.Text) hub.received(id, frame.readText())
                    } finally {
                        hub.left(id)
                    }
                }
            }
        }
        """,
        9,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "kotlin",
        """
        import io.ktor.server.application.Application
        import io.ktor.server.application.install
        import io.ktor.server.routing.routing
        import io.ktor.server.websocket.WebSockets
        import io.ktor.server.websocket.pingPeriod
        import io.ktor.server.websocket.timeout
        import io.ktor.server.websocket.webSocket
        import io.ktor.websocket.Frame
        import io.ktor.websocket.readText
        import kotlin.time.Duration.Companion.seconds
        fun Application.live(hub: Hub) {
            install(WebSockets) {
                pingPeriod = 15.seconds
                timeout = 30.seconds
                maxFrameSize = 65_536
            }
            routing {
                webSocket("/vehicles/{id}") {
                    val id = call.parameters["id"]!!
                    hub.joined(id, this)
                    try {
                        for (frame in incoming) if (frame is Frame.Text) hub.received(id, frame.readText())
                    } finally {
                        hub.left(id)
                    }
                }
            }
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
]
