"""Time limits of clients, sockets, calls of gRPC and programs, and locks in Redis."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

HTTP = "http-call-without-timeout"
SOCKET = "socket-without-timeout"
GRPC = "grpc-call-without-deadline"
PROGRAM = "subprocess-without-timeout"
EXPIRY = "lock-without-expiry"
RELEASE = "lock-of-another-released"

CASES = [
    bad(HTTP, "java", """
        import org.springframework.boot.web.client.RestTemplateBuilder;
        class Scores {
            private final RestTemplate http;
            Scores(RestTemplateBuilder builder) { this.http = builder.rootUri("https://scores").build(); }
        }
        """, 4),
    good(HTTP, "java", """
        import org.springframework.boot.web.client.RestTemplateBuilder;
        class Scores {
            private final RestTemplate http;
            Scores(RestTemplateBuilder builder) {
                this.http = builder.connectTimeout(ONE).readTimeout(TWO).rootUri("https://scores").build();
            }
        }
        """),
    bad(HTTP, "java", """
        import org.springframework.web.reactive.function.client.WebClient;
        class Scores {
            private final WebClient web = WebClient.builder().baseUrl("https://scores").build();
        }
        """, 3),
    good(HTTP, "java", """
        import org.springframework.web.reactive.function.client.WebClient;
        class Scores {
            private final WebClient web = WebClient.builder().baseUrl("https://scores").build();
            Mono<Score> one(String id) {
                return web.get().uri("/{id}", id).retrieve().bodyToMono(Score.class).timeout(TWO_SECONDS);
            }
        }
        """),
    bad(HTTP, "java", """
        import java.net.HttpURLConnection;
        import java.net.URL;
        class Scores {
            int ask(String at) throws Exception {
                HttpURLConnection connection = (HttpURLConnection) new URL(at).openConnection();
                return connection.getResponseCode();
            }
        }
        """, 5),
    good(HTTP, "java", """
        import java.net.HttpURLConnection;
        import java.net.URL;
        class Scores {
            int ask(String at) throws Exception {
                HttpURLConnection connection = (HttpURLConnection) new URL(at).openConnection();
                connection.setReadTimeout(2000);
                return connection.getResponseCode();
            }
            InputStream own(URL at) throws Exception { return at.openConnection().getInputStream(); }
        }
        """),
    bad(HTTP, "kotlin", """
        import io.ktor.client.HttpClient
        import io.ktor.client.engine.cio.CIO
        class Tiles {
            private val client = HttpClient(CIO) {
                engine { requestTimeout = 0 }
            }
        }
        """, 5),
    bad(HTTP, "csharp", """
        class Tiles {
            private readonly HttpClient _http;
            public Tiles(HttpClient http) {
                _http = http;
                _http.Timeout = Timeout.InfiniteTimeSpan;
            }
        }
        """, 5),
    good(HTTP, "csharp", """
        class Tiles {
            private readonly HttpClient _http;
            public Tiles(HttpClient http) {
                _http = http;
                // Downloads are limited by their own tokens.
                _http.Timeout = Timeout.InfiniteTimeSpan;
            }
        }
        """),
    bad(HTTP, "python", """
        import aiohttp
        def session():
            return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        """, 3),
    # Sockets.
    bad(SOCKET, "rust", """
        use tokio::net::TcpStream;
        async fn ask(at: &str) -> std::io::Result<[u8; 4]> {
            let mut stream = TcpStream::connect(at).await?;
            let mut answer = [0u8; 4];
            stream.read_exact(&mut answer).await?;
            Ok(answer)
        }
        """, 3),
    good(SOCKET, "rust", """
        use tokio::net::TcpStream;
        async fn ask(at: &str) -> std::io::Result<[u8; 4]> {
            let mut stream = TcpStream::connect(at).await?;
            let mut answer = [0u8; 4];
            stream.read_exact(&mut answer).await?;
            Ok(answer)
        }
        async fn asked(at: &str) -> anyhow::Result<[u8; 4]> {
            Ok(tokio::time::timeout(LIMIT, ask(at)).await??)
        }
        """),
    bad(SOCKET, "rust", """
        use tokio::net::TcpStream;
        async fn serve(mut socket: TcpStream) -> std::io::Result<()> {
            let mut line = String::new();
            let mut reader = BufReader::new(&mut socket);
            reader.read_line(&mut line).await?;
            Ok(())
        }
        """, 5),
    good(SOCKET, "rust", """
        use tokio::net::TcpStream;
        use tokio::time::timeout;
        async fn serve(mut socket: TcpStream) -> std::io::Result<()> {
            let mut line = String::new();
            let mut reader = BufReader::new(&mut socket);
            timeout(IDLE, reader.read_line(&mut line)).await??;
            Ok(())
        }
        """),
    bad(SOCKET, "kotlin", """
        import java.net.Socket
        fun ask(host: String) = Socket(host, 99).use { it.getInputStream().read() }
        """, 2),
    good(SOCKET, "kotlin", """
        import java.net.InetSocketAddress
        import java.net.Socket
        fun ask(host: String): Int {
            val socket = Socket()
            socket.soTimeout = 2000
            socket.connect(InetSocketAddress(host, 99), 2000)
            return socket.getInputStream().read()
        }
        """),
    bad(SOCKET, "csharp", """
        class Scale {
            public async Task<int> Ask(string host) {
                using var client = new TcpClient();
                await client.ConnectAsync(host, 99);
                return client.GetStream().ReadByte();
            }
        }
        """, 4),
    bad(SOCKET, "go", """
        package a
        import ("bufio"; "net")
        func serve(conn net.Conn) {
            defer conn.Close()
            scanner := bufio.NewScanner(conn)
            for scanner.Scan() { answer(conn, scanner.Text()) }
        }
        func listen(l net.Listener) error {
            for {
                conn, err := l.Accept()
                if err != nil { return err }
                go serve(conn)
            }
        }
        """, 5),
    good(SOCKET, "go", """
        package a
        import ("bufio"; "net"; "time")
        func serve(conn net.Conn) {
            defer conn.Close()
            scanner := bufio.NewScanner(conn)
            for {
                conn.SetReadDeadline(time.Now().Add(time.Minute))
                if !scanner.Scan() { return }
                answer(conn, scanner.Text())
            }
        }
        func listen(l net.Listener) error {
            for {
                conn, err := l.Accept()
                if err != nil { return err }
                go serve(conn)
            }
        }
        """),
    bad(SOCKET, "python", """
        import asyncio
        async def serve(reader, writer):
            while line := await reader.readline():
                writer.write(line)
        async def main():
            await asyncio.start_server(serve, "0.0.0.0", 99)
        """, 3),
    # gRPC.
    bad(GRPC, "go", """
        package a
        import ("context"; "example.com/shop/pointspb")
        type S struct { client pointspb.PointsClient }
        func (s *S) balance(id string) (*pointspb.Balance, error) {
            return s.client.Get(context.Background(), &pointspb.Request{Id: id})
        }
        """, 5),
    good(GRPC, "go", """
        package a
        import ("context"; "time"; "example.com/shop/pointspb")
        type S struct { client pointspb.PointsClient }
        func (s *S) balance(ctx context.Context, id string) (*pointspb.Balance, error) {
            ctx, cancel := context.WithTimeout(ctx, time.Second)
            defer cancel()
            return s.client.Get(ctx, &pointspb.Request{Id: id})
        }
        """),
    bad(GRPC, "java", """
        class Prices {
            private final PricesGrpc.PricesBlockingStub stub;
            Prices(PricesGrpc.PricesBlockingStub stub) { this.stub = stub; }
            Price one(Request request) { return stub.getPrice(request); }
            Price two(Request request) { return stub.withDeadlineAfter(2, SECONDS).getPrice(request); }
        }
        """, 4),
    bad(GRPC, "kotlin", """
        class Prices(private val stub: PricesGrpcKt.PricesCoroutineStub) {
            suspend fun one(request: Request) = stub.getPrice(request)
            suspend fun two(request: Request) = withTimeout(2000) { stub.getPrice(request) }
        }
        """, 2),
    bad(GRPC, "csharp", """
        class Prices {
            private readonly Pricing.PricingClient _client;
            public async Task<Price> One(Request r) => await _client.GetPriceAsync(r);
            public async Task<Price> Two(Request r) => await _client.GetPriceAsync(r, deadline: Soon());
        }
        """, 3),
    bad(GRPC, "rust", """
        use tonic::transport::Channel;
        async fn price(sku: String) -> anyhow::Result<Price> {
            let mut client = PricingClient::connect("http://prices:50051").await?;
            Ok(client.get_price(PriceRequest { sku }).await?.into_inner())
        }
        """, 4),
    good(GRPC, "rust", """
        use tonic::transport::Endpoint;
        async fn price(sku: String) -> anyhow::Result<Price> {
            let channel = Endpoint::from_static("http://prices:50051").timeout(LIMIT).connect().await?;
            let mut client = PricingClient::new(channel);
            Ok(client.get_price(PriceRequest { sku }).await?.into_inner())
        }
        """),
    # Programs.
    bad(PROGRAM, "java", """
        class Converter {
            int convert(String file) throws Exception {
                Process process = new ProcessBuilder("convert", file).start();
                return process.waitFor();
            }
        }
        """, 4),
    good(PROGRAM, "java", """
        class Converter {
            boolean convert(String file) throws Exception {
                Process process = new ProcessBuilder("convert", file).start();
                return process.waitFor(30, TimeUnit.SECONDS);
            }
        }
        """),
    bad(PROGRAM, "rust", """
        async fn convert(file: &str) -> std::io::Result<std::process::Output> {
            tokio::process::Command::new("convert").arg(file).output().await
        }
        """, 2),
    bad(PROGRAM, "csharp", """
        class Converter {
            public async Task Convert(string file) {
                using var process = Process.Start("convert", file);
                await process.WaitForExitAsync();
            }
        }
        """, 4),
    # Locks in Redis.
    bad(EXPIRY, "go", """
        package a
        import ("context"; "github.com/redis/go-redis/v9")
        type S struct { rdb *redis.Client }
        func (s *S) lock(ctx context.Context, key string) (bool, error) {
            return s.rdb.SetNX(ctx, key, "1", 0).Result()
        }
        """, 5),
    good(EXPIRY, "go", """
        package a
        import ("context"; "time"; "github.com/redis/go-redis/v9")
        type S struct { rdb *redis.Client }
        func (s *S) lock(ctx context.Context, key string) (bool, error) {
            return s.rdb.SetNX(ctx, key, "1", time.Minute).Result()
        }
        func (s *S) remember(ctx context.Context, key string) error {
            return s.rdb.SetNX(ctx, key, "1", 0).Err()
        }
        """),
    bad(EXPIRY, "typescript", """
        import Redis from 'ioredis';
        const redis = new Redis({ commandTimeout: 500 });
        export const takeLock = async (key: string) => redis.set(key, 'me', 'NX');
        export const takeOther = async (key: string) => redis.set(`lock:${key}`, 'me', 'PX', 3000, 'NX');
        """, 3),
    bad(EXPIRY, "java", """
        class Locks {
            private final StringRedisTemplate redis;
            boolean lock(String key) { return redis.opsForValue().setIfAbsent(key, "me"); }
            boolean lock(String key, Duration t) { return redis.opsForValue().setIfAbsent(key, "me", t); }
        }
        """, 3),
    bad(EXPIRY, "python", """
        import redis
        client = redis.Redis(socket_timeout=1)
        def with_lock(name):
            with client.lock(name):
                work()
        def with_limit(name):
            with client.lock(name, timeout=30):
                work()
        """, 4),
    bad(RELEASE, "python", """
        import redis
        client = redis.Redis(socket_timeout=1)
        def locked(key, me):
            if client.set(key, me, nx=True, ex=30):
                try:
                    work()
                finally:
                    client.delete(key)
        """, 8),
    good(RELEASE, "python", """
        import redis
        client = redis.Redis(socket_timeout=1)
        def locked(key, me):
            if client.set(key, me, nx=True, ex=30):
                try:
                    work()
                finally:
                    if client.get(key) == me:
                        client.delete(key)
        def forget(key):
            client.delete(key)
        """),
]  # fmt: skip
