"""Peers, programs and replies that may be gone and are waited for, and what is close to them and right."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_BLOCKING_CALL_IN_ASYNC_CODE = "blocking-call-in-async-code"
_CONNECTION_PER_CALL = "connection-per-call"
_FUTURE_WITHOUT_TIMEOUT = "future-without-timeout"
_HTTP_CALL_WITHOUT_TIMEOUT = "http-call-without-timeout"
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
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Net.Sockets;
        public sealed class Probe
        {
            public async Task<bool> IsUpAsync(string host, int port, TimeSpan limit)
            {
                using var client = new TcpClient();
                var connect = client.ConnectAsync(host, port);
                if (await Task.WhenAny(connect, Task.Delay(limit)) != connect)
                {
                    return false;
                }
                await connect;
                return client.Connected;
            }
        }
        """,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.IOException;
        import java.net.InetSocketAddress;
        import java.net.Socket;
        public class PortProbe {
            public boolean isOpen(String host, int port) {
                try (Socket socket = new Socket()) {
                    socket.connect(new InetSocketAddress(host, port), 2000);
                    return true;
                } catch (IOException e) {
                    return false;
                }
            }
        }
        """,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import (
        	"encoding/binary"
        	"io"
        	"net"
        	"time"
        )
        const idle = time.Minute
        func Session(addr string, handle func([]byte) error) error {
        	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
        	if err != nil {
        		return err
        	}
        	defer conn.Close()
        	for {
        		if err := conn.SetReadDeadline(time.Now().Add(idle)); err != nil {
        			return err
        		}
        		var size uint16
        		if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
        			return err
        		}
        		frame := make([]byte, size)
        		if _, err := io.ReadFull(conn, frame); err != nil {
        			return err
        		}
        		if err := conn.SetReadDeadline(time.Time{}); err != nil {
        			return err
        		}
        		if err := handle(frame); err != nil {
        			return err
        		}
        	}
        }
        """,
    ),
    good(
        _CONNECTION_PER_CALL,
        "javascript",
        """
        import net from 'node:net';
        export function labelRoutes(app, printers) {
          app.post('/labels/:printer', (req, res, next) => {
            const socket = net.connect({ host: printers[req.params.printer], port: 9100, timeout: 3000 });
            socket.on('timeout', () => socket.destroy(new Error('printer did not answer')));
            socket.on('error', next);
            socket.on('close', (failed) => {
              if (!failed) res.sendStatus(204);
            });
            socket.end(req.body.zpl);
          });
        }
        """,
    ),
    good(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "kotlin",
        """
        import at.favre.lib.crypto.bcrypt.BCrypt
        import kotlinx.coroutines.Dispatchers
        import kotlinx.coroutines.withContext
        class Passwords {
            private val verifier = BCrypt.verifyer()
            suspend fun matches(given: CharArray, hash: String): Boolean = withContext(Dispatchers.Default) {
                verifier.verify(given, hash).verified
            }
        }
        """,
    ),
    good(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "rust",
        """
        use std::io::{self, Read};
        use flate2::read::GzDecoder;
        pub async fn import(path: std::path::PathBuf, store: &Store) -> anyhow::Result<usize> {
            let text = tokio::task::spawn_blocking(move || -> io::Result<String> {
                let file = std::fs::File::open(path)?;
                let mut text = String::new();
                GzDecoder::new(file).take(64 << 20).read_to_string(&mut text)?;
                Ok(text)
            })
            .await??;
            store.insert_lines(&text).await
        }
        """,
    ),
    good(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "typescript",
        """
        type FetchLike = typeof fetch;
        export class CatalogClient {
          constructor(private readonly baseUrl: string, private readonly fetchImpl: FetchLike = fetch) {}
          async product(id: string): Promise<Product | null> {
            const res = await this.fetchImpl(new URL(`/products/${encodeURIComponent(id)}`, this.baseUrl), {
              headers: { accept: 'application/json' },
              signal: AbortSignal.timeout(3_000),
            });
            if (res.status === 404) return null;
            if (!res.ok) throw new Error(`catalog answered ${res.status}`);
            return (await res.json()) as Product;
          }
        }
        """,
    ),
    good(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "python",
        """
        import asyncio
        async def pdf_text(path: str) -> str:
            process = await asyncio.create_subprocess_exec(
                "pdftotext", path, "-", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
            )
            try:
                async with asyncio.timeout(30):
                    output, _ = await process.communicate()
            except TimeoutError:
                process.kill()
                await process.wait()
                raise
            if process.returncode != 0:
                raise RuntimeError(f"pdftotext ended with {process.returncode}")
            return output.decode("utf-8", "replace")
        """,
    ),
]
