"""Limits that are given to nothing, or in the wrong place; and what is close to them and right."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_BLOCKING_CALL_IN_ASYNC_CODE = "blocking-call-in-async-code"
_CANCELLATION_NOT_PASSED_ON = "cancellation-not-passed-on"
_HTTP_CALL_WITHOUT_TIMEOUT = "http-call-without-timeout"
_POOL_PER_CALL = "pool-per-call"
_SECRET_IN_LOG = "secret-in-log"
_SOCKET_WITHOUT_TIMEOUT = "socket-without-timeout"
_SUBPROCESS_WITHOUT_TIMEOUT = "subprocess-without-timeout"
_TASK_WAITED_FOR_BY_THREAD = "task-waited-for-by-thread"

CASES: list[Case] = [
    bad(
        _CANCELLATION_NOT_PASSED_ON,
        "csharp",
        """
        public sealed class ErpClient
        {
            private readonly HttpClient _http;
            public ErpClient(HttpClient http) => _http = http;
            public async Task<string> StockAsync(string sku, CancellationToken ct)
            {
                using var limit = CancellationTokenSource.CreateLinkedTokenSource(ct);
                limit.CancelAfter(TimeSpan.FromSeconds(3));
                using var response = await _http.GetAsync($"stock/{sku}", ct);
                response.EnsureSuccessStatusCode();
                return await response.Content.ReadAsStringAsync(ct);
            }
        }
        """,
        7,
    ),
    bad(
        _SECRET_IN_LOG,
        "java",
        """
        import org.slf4j.Logger;
        import org.slf4j.LoggerFactory;
        public class Admission {
            private static final Logger log = LoggerFactory.getLogger(Admission.class);
            private final Beds beds;
            public Admission(Beds beds) {
                this.beds = beds;
            }
            public void admit(Patient patient) {
                log.info("Admitting {}", patient);
                beds.assign(patient.getId());
            }
            public static class Patient {
                private long id;
                private String name;
                private String socialSecurityNumber;
                public long getId() {
                    return id;
                }
                @Override
                public String toString() {
                    return "Patient{id=" + id + ", name=" + name + ", ssn=" + socialSecurityNumber + "}";
                }
            }
        }
        """,
        10,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "javascript",
        """
        import axios from 'axios';
        export async function rates(base, currency) {
          const { data } = await axios.get(`${base}/rates`, { params: { currency } }, { timeout: 3000 });
          return data;
        }
        """,
        3,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "kotlin",
        """
        import software.amazon.awssdk.services.sqs.SqsAsyncClient
        import software.amazon.awssdk.services.sqs.model.SendMessageRequest
        class OrderQueue(private val sqs: SqsAsyncClient, private val url: String) {
            suspend fun publish(body: String) {
                sqs.sendMessage(SendMessageRequest.builder().queueUrl(url).messageBody(body).build()).join()
            }
        }
        """,
        5,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "kotlin",
        """
        import org.springframework.web.reactive.function.client.WebClient
        class StockClient(private val client: WebClient) {
            suspend fun stock(sku: String): Stock? =
                client.get().uri("/stock/{sku}", sku).retrieve().bodyToMono(Stock::class.java).block()
        }
        """,
        4,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "python",
        """
        import requests
        def rates(base: str, currency: str) -> dict:
            answer = requests.get(f"{base}/rates/{currency}", {"timeout": 3})
            answer.raise_for_status()
            return answer.json()
        """,
        3,
    ),
    bad(
        _POOL_PER_CALL,
        "typescript",
        """
        import Piscina from 'piscina';
        import type { FastifyInstance } from 'fastify';
        export function routes(app: FastifyInstance): void {
          app.post('/render', async (request, reply) => {
            const pool = new Piscina({ filename: new URL('./render.js', import.meta.url).href });
            try {
              return reply.send(await pool.run(request.body));
            } finally {
              await pool.destroy();
            }
          });
        }
        """,
        5,
    ),
    good(
        _TASK_WAITED_FOR_BY_THREAD,
        "csharp",
        """
        using System.Net.Sockets;
        using System.Text;
        public sealed class LabelPrinter
        {
            public string Status(string host)
            {
                using var client = new TcpClient { SendTimeout = 3000, ReceiveTimeout = 3000 };
                if (!client.ConnectAsync(host, 9100).Wait(TimeSpan.FromSeconds(3)))
                {
                    throw new TimeoutException("printer did not answer");
                }
                using var stream = client.GetStream();
                stream.Write("~HS"u8);
                var buffer = new byte[256];
                var read = stream.Read(buffer, 0, buffer.Length);
                return Encoding.ASCII.GetString(buffer, 0, read);
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
        	"errors"
        	"log/slog"
        	"net"
        )
        func Serve(conn *net.UDPConn, handle func([]byte)) error {
        	buf := make([]byte, 65535)
        	for {
        		n, _, err := conn.ReadFromUDP(buf)
        		if err != nil {
        			if errors.Is(err, net.ErrClosed) {
        				return nil
        			}
        			slog.Warn("read", "err", err)
        			return err
        		}
        		handle(buf[:n])
        	}
        }
        func Listen(addr *net.UDPAddr, handle func([]byte)) error {
        	conn, err := net.ListenUDP("udp", addr)
        	if err != nil {
        		return err
        	}
        	defer conn.Close()
        	return Serve(conn, handle)
        }
        """,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "javascript",
        """
        import net from 'node:net';
        export function query(host, port, command, limitMs = 5000) {
          return new Promise((resolve, reject) => {
            const socket = net.connect({ host, port });
            const timer = setTimeout(() => socket.destroy(new Error(`${host} did not answer`)), limitMs);
            const chunks = [];
            socket.on('connect', () => socket.end(command));
            socket.on('data', (chunk) => chunks.push(chunk));
            socket.on('error', (err) => {
              clearTimeout(timer);
              reject(err);
            });
            socket.on('end', () => {
              clearTimeout(timer);
              resolve(Buffer.concat(chunks).toString('ascii'));
            });
          });
        }
        """,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.DataInputStream;
        import java.io.IOException;
        import java.net.ServerSocket;
        import java.net.Socket;
        import java.util.concurrent.ExecutorService;
        import org.slf4j.Logger;
        import org.slf4j.LoggerFactory;
        public class TrackerServer {
            private static final Logger log = LoggerFactory.getLogger(TrackerServer.class);
            private static final int IDLE_MS = 120_000;
            private final ExecutorService workers;
            private final Sink sink;
            public TrackerServer(ExecutorService workers, Sink sink) {
                this.workers = workers;
                this.sink = sink;
            }
            public void serve(ServerSocket server) throws IOException {
                while (!server.isClosed()) {
                    Socket socket = server.accept();
                    socket.setSoTimeout(IDLE_MS);
                    workers.execute(() -> handle(socket));
                }
            }
            private void handle(Socket socket) {
                try (socket; DataInputStream in = new DataInputStream(socket.getInputStream())) {
                    while (true) {
                        sink.accept(in.readLong());
                    }
                } catch (IOException e) {
                    log.info("tracker {} left: {}", socket.getRemoteSocketAddress(), e.toString());
                }
            }
        }
        """,
    ),
    good(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.IOException;
        import java.io.UncheckedIOException;
        import java.nio.charset.StandardCharsets;
        import java.util.List;
        import java.util.concurrent.CompletableFuture;
        import java.util.concurrent.ExecutionException;
        import java.util.concurrent.TimeUnit;
        import java.util.concurrent.TimeoutException;
        public class Runner {
            public String run(List<String> command) throws IOException, InterruptedException, ExecutionException, TimeoutException {
                Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
                try {
                    CompletableFuture<String> output = CompletableFuture.supplyAsync(() -> {
                        try {
                            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    });
                    if (!process.waitFor(60, TimeUnit.SECONDS)) {
                        throw new IOException("did not finish");
                    }
                    if (process.exitValue() != 0) {
                        throw new IOException("ended with " + process.exitValue());
                    }
                    return output.get(5, TimeUnit.SECONDS);
                } finally {
                    process.destroyForcibly();
                }
            }
        }
        """,
    ),
    good(
        _SECRET_IN_LOG,
        "java",
        """
        import org.slf4j.Logger;
        import org.slf4j.LoggerFactory;
        public class PayrollExport {
            private static final Logger log = LoggerFactory.getLogger(PayrollExport.class);
            private final PayrollApi api;
            public PayrollExport(PayrollApi api) {
                this.api = api;
            }
            public void export(Employee employee) {
                if (employee.iban() == null) {
                    log.warn("employee {} has no IBAN", employee.id());
                    return;
                }
                api.push(employee.id(), employee.iban(), employee.taxId());
                log.info("exported employee {} (IBAN present: {})", employee.id(), employee.iban() != null);
            }
        }
        """,
    ),
    good(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "csharp",
        """
        public sealed class Mirror
        {
            private static readonly TimeSpan Limit = TimeSpan.FromMinutes(5);
            private readonly HttpClient _http;
            public Mirror(HttpClient http) => _http = http;
            public async Task DownloadAsync(Uri source, Stream target, CancellationToken ct)
            {
                using var limit = CancellationTokenSource.CreateLinkedTokenSource(ct);
                limit.CancelAfter(Limit);
                using var response = await _http.GetAsync(source, HttpCompletionOption.ResponseHeadersRead, limit.Token);
                response.EnsureSuccessStatusCode();
                await using var body = await response.Content.ReadAsStreamAsync(limit.Token);
                await body.CopyToAsync(target, limit.Token);
            }
        }
        """,
    ),
    good(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "java",
        """
        import org.springframework.security.crypto.password.PasswordEncoder;
        import org.springframework.stereotype.Service;
        import reactor.core.publisher.Mono;
        import reactor.core.scheduler.Schedulers;
        @Service
        public class LoginService {
            private final AccountRepository accounts;
            private final PasswordEncoder encoder;
            public LoginService(AccountRepository accounts, PasswordEncoder encoder) {
                this.accounts = accounts;
                this.encoder = encoder;
            }
            public Mono<Account> login(String name, String password) {
                return accounts.findByName(name)
                    .publishOn(Schedulers.boundedElastic())
                    .filter(account -> encoder.matches(password, account.hash()));
            }
        }
        """,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use axum::extract::ws::{Message, WebSocket};
        use std::time::Duration;
        use tokio::time::timeout;
        const IDLE: Duration = Duration::from_secs(90);
        pub async fn session(mut socket: WebSocket, hub: Hub) {
            loop {
                match timeout(IDLE, socket.recv()).await {
                    Ok(Some(Ok(Message::Text(text)))) => hub.publish(text.to_string()).await,
                    Ok(Some(Ok(Message::Close(_)))) | Ok(None) | Err(_) => break,
                    Ok(Some(Ok(_))) => {}
                    Ok(Some(Err(err))) => {
                        tracing::debug!(error = %err, "socket failed");
                        break;
                    }
                }
            }
        }
        """,
    ),
]
