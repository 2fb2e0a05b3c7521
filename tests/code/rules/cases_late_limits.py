"""Limits of connecting alone, limits that begin too late, and limits that do not hold for awaited calls."""

# ruff: noqa: E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_GRPC_CALL_WITHOUT_DEADLINE = "grpc-call-without-deadline"
_HTTP_CALL_WITHOUT_TIMEOUT = "http-call-without-timeout"
_SOCKET_WITHOUT_TIMEOUT = "socket-without-timeout"
_SUBPROCESS_WITHOUT_TIMEOUT = "subprocess-without-timeout"

CASES: list[Case] = [
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.IOException;
        import java.io.InputStream;
        import java.net.HttpURLConnection;
        import java.net.URL;
        public class TariffLoader {
            private final String base;
            public TariffLoader(String base) {
                this.base = base;
            }
            public byte[] load(String code) throws IOException {
                HttpURLConnection connection = connect(code);
                try (InputStream in = connection.getInputStream()) {
                    return in.readNBytes(64 * 1024);
                } finally {
                    connection.disconnect();
                }
            }
            private HttpURLConnection connect(String code) throws IOException {
                HttpURLConnection connection = (HttpURLConnection) new URL(base + "/tariffs/" + code).openConnection();
                connection.setConnectTimeout(2000);
                connection.setRequestProperty("Accept", "application/json");
                return connection;
            }
        }
        """,
        19,
    ),
    good(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.IOException;
        import java.io.InputStream;
        import java.net.HttpURLConnection;
        import java.net.URL;
        public class TariffLoader {
            private final String base;
            public TariffLoader(String base) {
                this.base = base;
            }
            public byte[] load(String code) throws IOException {
                HttpURLConnection connection = connect(code);
                try (InputStream in = connection.getInputStream()) {
                    return in.readNBytes(64 * 1024);
                } finally {
                    connection.disconnect();
                }
            }
            private HttpURLConnection connect(String code) throws IOException {
                HttpURLConnection connection = (HttpURLConnection) new URL(base + "/tariffs/" + code).openConnection();
                connection.setConnectTimeout(2000);
                connection.setReadTimeout(5000);
                connection.setRequestProperty("Accept", "application/json");
                return connection;
            }
        }
        """,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "java",
        """
        import io.vertx.core.Future;
        import io.vertx.core.Vertx;
        import io.vertx.core.buffer.Buffer;
        import io.vertx.ext.web.client.HttpResponse;
        import io.vertx.ext.web.client.WebClient;
        import io.vertx.ext.web.client.WebClientOptions;
        public class TileClient {
            private final WebClient client;
            public TileClient(Vertx vertx) {
                this.client = WebClient.create(vertx, new WebClientOptions().setConnectTimeout(2000).setMaxPoolSize(50));
            }
            public Future<Buffer> tile(int z, int x, int y) {
                return client.getAbs("https://tiles.example/" + z + "/" + x + "/" + y).send().map(HttpResponse::body);
            }
        }
        """,
        10,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "java",
        """
        import jakarta.ws.rs.client.Client;
        import jakarta.ws.rs.client.ClientBuilder;
        import java.util.concurrent.TimeUnit;
        public class TaxClient {
            private final Client client = ClientBuilder.newBuilder()
                .connectTimeout(2, TimeUnit.SECONDS)
                .build();
            public String rate(String country) {
                return client.target("https://tax.example/rates").path(country).request().get(String.class);
            }
        }
        """,
        5,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "typescript",
        """
        import { S3Client } from '@aws-sdk/client-s3';
        import { NodeHttpHandler } from '@smithy/node-http-handler';
        export const s3 = new S3Client({
          region: 'eu-central-1',
          maxAttempts: 3,
          requestHandler: new NodeHttpHandler({ connectionTimeout: 2000 }),
        });
        """,
        6,
    ),
    good(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "typescript",
        """
        import { S3Client } from '@aws-sdk/client-s3';
        import { NodeHttpHandler } from '@smithy/node-http-handler';
        export const s3 = new S3Client({
          region: 'eu-central-1',
          maxAttempts: 3,
          requestHandler: new NodeHttpHandler({ connectionTimeout: 2000, requestTimeout: 10_000 }),
        });
        """,
    ),
    bad(
        _GRPC_CALL_WITHOUT_DEADLINE,
        "typescript",
        """
        import { createClient, type Client } from '@connectrpc/connect';
        import { createGrpcTransport } from '@connectrpc/connect-node';
        import { PricingService } from './gen/pricing_pb.js';
        const transport = createGrpcTransport({ baseUrl: process.env.PRICING_URL! });
        const pricing: Client<typeof PricingService> = createClient(PricingService, transport);
        export async function quote(sku: string, quantity: number): Promise<bigint> {
          const answer = await pricing.quote({ sku, quantity });
          return answer.cents;
        }
        """,
        7,
    ),
    good(
        _GRPC_CALL_WITHOUT_DEADLINE,
        "typescript",
        """
        import { createClient, type Client } from '@connectrpc/connect';
        import { createGrpcTransport } from '@connectrpc/connect-node';
        import { PricingService } from './gen/pricing_pb.js';
        const transport = createGrpcTransport({ baseUrl: process.env.PRICING_URL!, defaultTimeoutMs: 3000 });
        const pricing: Client<typeof PricingService> = createClient(PricingService, transport);
        export async function quote(sku: string, quantity: number): Promise<bigint> {
          const answer = await pricing.quote({ sku, quantity });
          return answer.cents;
        }
        """,
    ),
    bad(
        _GRPC_CALL_WITHOUT_DEADLINE,
        "rust",
        """
        use tonic::transport::{Channel, Endpoint};
        use std::time::Duration;
        pub struct Rates {
            client: RatesClient<Channel>,
        }
        impl Rates {
            pub async fn open(addr: &'static str) -> Result<Self, tonic::transport::Error> {
                let channel = Endpoint::from_static(addr).connect_timeout(Duration::from_secs(3)).connect().await?;
                Ok(Self { client: RatesClient::new(channel) })
            }
            pub async fn rate(&self, pair: &str) -> Result<f64, tonic::Status> {
                let mut client = self.client.clone();
                let answer = client.get_rate(RateRequest { pair: pair.to_owned() }).await?;
                Ok(answer.into_inner().value)
            }
        }
        """,
        13,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import asyncio
        import json
        import websockets
        async def consume(url: str, handle) -> None:
            async with websockets.connect(url, ping_interval=None, open_timeout=5) as socket:
                async for message in socket:
                    await handle(json.loads(message))
        """,
        5,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import pika
        def open_channel(host: str):
            parameters = pika.ConnectionParameters(host=host, heartbeat=0, socket_timeout=5)
            return pika.BlockingConnection(parameters).channel()
        """,
        3,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Net.Mail;
        public sealed class Mailer
        {
            private readonly MailOptions _options;
            public Mailer(MailOptions options) => _options = options;
            public async Task SendAsync(MailMessage message, CancellationToken ct)
            {
                using var client = new SmtpClient(_options.Host, _options.Port) { Timeout = 10_000 };
                await client.SendMailAsync(message, ct);
            }
        }
        """,
        9,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.IO.Ports;
        public sealed class Scale : IDisposable
        {
            private readonly SerialPort _port;
            public Scale(string name)
            {
                _port = new SerialPort(name, 9600) { NewLine = "\\r\\n" };
                _port.Open();
            }
            public decimal Weigh()
            {
                _port.WriteLine("W");
                return decimal.Parse(_port.ReadLine());
            }
            public void Dispose() => _port.Dispose();
        }
        """,
        7,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.IO.Ports;
        public sealed class Scale : IDisposable
        {
            private readonly SerialPort _port;
            public Scale(string name)
            {
                _port = new SerialPort(name, 9600) { NewLine = "\\r\\n", ReadTimeout = 2000, WriteTimeout = 2000 };
                _port.Open();
            }
            public decimal Weigh()
            {
                _port.WriteLine("W");
                return decimal.Parse(_port.ReadLine(), System.Globalization.CultureInfo.InvariantCulture);
            }
            public void Dispose() => _port.Dispose();
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.IO.Pipes;
        public sealed class AgentClient
        {
            public string Ask(string question)
            {
                using var pipe = new NamedPipeClientStream(".", "agent", PipeDirection.InOut);
                pipe.Connect();
                using var writer = new StreamWriter(pipe, leaveOpen: true) { AutoFlush = true };
                using var reader = new StreamReader(pipe);
                writer.WriteLine(question);
                return reader.ReadLine() ?? string.Empty;
            }
        }
        """,
        7,
    ),
    bad(
        _HTTP_CALL_WITHOUT_TIMEOUT,
        "csharp",
        """
        public sealed class Mirror
        {
            private readonly HttpClient _http;
            public Mirror(HttpClient http)
            {
                _http = http;
                _http.Timeout = TimeSpan.FromSeconds(30);
            }
            public async Task DownloadAsync(Uri source, string target)
            {
                using var response = await _http.GetAsync(source, HttpCompletionOption.ResponseHeadersRead);
                response.EnsureSuccessStatusCode();
                await using var file = File.Create(target);
                await using var body = await response.Content.ReadAsStreamAsync();
                await body.CopyToAsync(file);
            }
        }
        """,
        15,
    ),
    bad(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "python",
        """
        import subprocess
        def convert(source: str, target: str) -> str:
            process = subprocess.Popen(
                ["soffice", "--headless", "--convert-to", "pdf", source, "--outdir", target],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            output = process.stdout.read()
            code = process.wait(timeout=60)
            if code != 0:
                raise RuntimeError(output[-2000:])
            return output
        """,
        9,
    ),
    good(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "python",
        """
        import subprocess
        def convert(source: str, target: str) -> str:
            process = subprocess.Popen(
                ["soffice", "--headless", "--convert-to", "pdf", source, "--outdir", target],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            try:
                output, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise
            if process.returncode != 0:
                raise RuntimeError(output[-2000:])
            return output
        """,
    ),
    bad(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.IOException;
        import java.nio.charset.StandardCharsets;
        import java.nio.file.Path;
        import java.util.List;
        import java.util.concurrent.TimeUnit;
        public class GhostscriptRunner {
            public String optimise(Path source, Path target) throws IOException, InterruptedException {
                Process process = new ProcessBuilder(List.of("gs", "-o", target.toString(), source.toString()))
                    .redirectErrorStream(true)
                    .start();
                String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (!process.waitFor(60, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new IOException("ghostscript did not finish");
                }
                if (process.exitValue() != 0) {
                    throw new IOException(output);
                }
                return output;
            }
        }
        """,
        11,
    ),
    good(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.IOException;
        import java.nio.file.Files;
        import java.nio.file.Path;
        import java.util.List;
        import java.util.concurrent.TimeUnit;
        public class GhostscriptRunner {
            public String optimise(Path source, Path target, Path log) throws IOException, InterruptedException {
                Process process = new ProcessBuilder(List.of("gs", "-o", target.toString(), source.toString()))
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
                if (!process.waitFor(60, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new IOException("ghostscript did not finish");
                }
                String output = Files.readString(log);
                if (process.exitValue() != 0) {
                    throw new IOException(output);
                }
                return output;
            }
        }
        """,
    ),
    bad(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Diagnostics;
        public sealed class ProbeRunner
        {
            public string Run(string path)
            {
                using var process = Process.Start(new ProcessStartInfo("ffprobe", path)
                {
                    RedirectStandardOutput = true,
                    UseShellExecute = false,
                })!;
                var output = process.StandardOutput.ReadToEnd();
                if (!process.WaitForExit(30_000))
                {
                    process.Kill(entireProcessTree: true);
                    throw new TimeoutException("ffprobe did not finish");
                }
                return output;
            }
        }
        """,
        11,
    ),
    good(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Diagnostics;
        public sealed class ProbeRunner
        {
            public async Task<string> RunAsync(string path)
            {
                using var process = Process.Start(new ProcessStartInfo("ffprobe", path)
                {
                    RedirectStandardOutput = true,
                    UseShellExecute = false,
                })!;
                using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(30));
                try
                {
                    var output = await process.StandardOutput.ReadToEndAsync(limit.Token);
                    await process.WaitForExitAsync(limit.Token);
                    return output;
                }
                catch (OperationCanceledException)
                {
                    process.Kill(entireProcessTree: true);
                    throw new TimeoutException("ffprobe did not finish");
                }
            }
        }
        """,
    ),
]
