"""Limits of time that are set elsewhere, or not for what waits: helpers, dispatchers, statements, patterns."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_SOCKET = "socket-without-timeout"
_PATTERN = "pattern-from-request"
_OUTLIVED = "request-outlived"

_RUST = """
        use tokio::{io::{AsyncBufReadExt, BufReader}, net::TcpStream, time::timeout};

        async fn next_line<R: AsyncBufReadExt + Unpin>(reader: &mut R) -> io::Result<String> {
            let mut line = String::new();
            reader.read_line(&mut line).await?;
            Ok(line)
        }

        async fn exchange(mut stream: TcpStream) -> io::Result<String> {
            let mut reader = BufReader::new(stream);
            next_line(&mut reader).await
        }

        pub async fn poll(modem: SocketAddr) -> io::Result<String> {
            let stream = timeout(DIAL, TcpStream::connect(modem)).await??;
            exchange(stream).await
        }
        """
_SFTP = """
        import paramiko

        def pull(host):
            ssh = paramiko.SSHClient()
            ssh.connect(host, timeout=10)
            sftp = ssh.open_sftp()
            return sftp.listdir("outbound")
        """
_STREAM = """
        import asyncio

        async def line_of(reader):
            return await reader.readline()

        async def ask(host):
            reader, writer = await asyncio.wait_for(asyncio.open_connection(host, 70), 3)
            return await line_of(reader)
        """
_RULES = """
        using System.Text.RegularExpressions;

        class Router {
            bool Applies(Rule rule, string subject, int tenantId) {
                return Regex.IsMatch(subject, rule.SubjectPattern, RegexOptions.IgnoreCase);
            }
        }
        """
_LIMIT = """
        use fancy_regex::RegexBuilder;

        fn compile(pattern: &str) -> Result<Regex, Error> {
            RegexBuilder::new(pattern).backtrack_limit(usize::MAX).build()
        }
        """
_GIN = """
        package labs

        import (
            "context"
            "github.com/gin-gonic/gin"
        )

        func (h *Handler) Release(c *gin.Context) {
            parent := c.Request.Context()
            go func() {
                ctx, stop := context.WithTimeout(parent, limit)
                defer stop()
                h.notify(ctx)
            }()
            c.Status(204)
        }
        """
_RPC = """
        package labs

        import (
            "context"
            pb "example.com/gen/labs/v1"
        )

        func (s *Server) Release(ctx context.Context, req *pb.ReleaseRequest) (*pb.ReleaseReply, error) {
            go s.notify(ctx, req.Id)
            return &pb.ReleaseReply{}, nil
        }
        """
_PIECES = """
        import re

        HOST = r"[0-9.]{3,45}"
        AGENT = r"\\{(?:\\s*[\\w./;-]+\\s*)*\\}"
        LINE = re.compile(" ".join((HOST, AGENT)))
        """

CASES = [
    bad(_SOCKET, "rust", _RUST, 5),
    good(_SOCKET, "rust", _RUST.replace("    exchange(stream).await", "    timeout(ALL, exchange(stream)).await?")),
    bad(_SOCKET, "python", _SFTP, 6),
    good(_SOCKET, "python", _SFTP.replace("    return", "    sftp.get_channel().settimeout(60)\n            return")),
    bad(_SOCKET, "python", _STREAM, 4),
    good(_SOCKET, "python", _STREAM.replace("await line_of(reader)", "await asyncio.wait_for(line_of(reader), 3)")),
    bad(_PATTERN, "csharp", _RULES, 5),
    good(_PATTERN, "csharp", _RULES.replace("IgnoreCase", "IgnoreCase, TimeSpan.FromMilliseconds(50)")),
    good(_PATTERN, "csharp", _RULES.replace("rule.Subject", "options.Subject").replace("Rule rule", "Options options")),
    good(_PATTERN, "csharp", _RULES.replace(", int tenantId", "")),
    bad(_PATTERN, "python", """
        import re

        def flagged(rules, text, tenant_id):
            return [rule for rule in rules if re.search(rule.pattern, text)]
        """, 4),
    bad(_PATTERN, "typescript", """
        export function matches(rules: Rule[], text: string, tenantId: string): boolean {
          for (const rule of rules) {
            if (new RegExp(rule.pattern).test(text)) return true;
          }
          return false;
        }
        """, 3),
    bad(_PATTERN, "rust", _LIMIT, 4),
    good(_PATTERN, "rust", _LIMIT.replace("usize::MAX", "50_000")),
    bad(_OUTLIVED, "go", _GIN, 10),
    good(_OUTLIVED, "go", _GIN.replace("c.Request.Context()", "context.WithoutCancel(c.Request.Context())")),
    bad(_OUTLIVED, "go", _RPC, 9),
    good(_OUTLIVED, "go", _RPC.replace("notify(ctx,", "notify(context.WithoutCancel(ctx),")),
    bad("catastrophic-expression", "python", _PIECES, 4),
    good("catastrophic-expression", "python", _PIECES.replace("(?:\\s*[\\w./;-]+\\s*)*", "[\\w./;\\s-]*")),
    bad("catastrophic-expression", "javascript", """
        const host = "[0-9.]{3,45}";
        const agent = "(?:\\\\s*\\\\w+\\\\s*)*!";
        const line = new RegExp([host, agent].join(" "));
        """, 2),
    good("http-call-without-timeout", "java", """
        import java.net.http.*;

        class Charges {
            private final HttpClient http = HttpClient.newHttpClient();

            HttpResponse<String> send(Passage passage) throws Exception {
                return http.send(requestFor(passage), HttpResponse.BodyHandlers.ofString());
            }

            private HttpRequest requestFor(Passage passage) {
                return HttpRequest.newBuilder(charges).timeout(LIMIT).build();
            }
        }
        """),
    bad("http-call-without-timeout", "java", """
        import java.net.http.*;

        class Charges {
            private final HttpClient http = HttpClient.newHttpClient();

            HttpResponse<String> send(Passage passage) throws Exception {
                return http.send(requestFor(passage), HttpResponse.BodyHandlers.ofString());
            }

            private HttpRequest requestFor(Passage passage) {
                return HttpRequest.newBuilder(charges).build();
            }
        }
        """, 7),
    good("http-call-without-timeout", "typescript", """
        import { Agent, fetch } from "undici";

        const dispatcher = new Agent({ headersTimeout: 5000, bodyTimeout: 5000 });

        export async function people(site: string) {
          return (await fetch(site, { dispatcher })).json();
        }
        """),
    bad("http-call-without-timeout", "typescript", """
        import { Agent, fetch } from "undici";

        const dispatcher = new Agent({ connections: 5 });

        export async function people(site: string) {
          return (await fetch(site, { dispatcher })).json();
        }
        """, 6),
    good("database-without-timeout", "python", """
        import asyncpg

        async def run(dsn, rows):
            async with asyncpg.create_pool(dsn) as pool:
                await pool.executemany(INSERT, rows, timeout=15)
        """),
    bad("database-without-timeout", "python", """
        import asyncpg

        async def run(dsn, rows):
            async with asyncpg.create_pool(dsn) as pool:
                await pool.execute(LOCK)
                await pool.executemany(INSERT, rows, timeout=15)
        """, 4),
    good("blocking-call-in-async-code", "csharp", """
        class Indexer : BackgroundService {
            private readonly IConsumer<string, string> _consumer;

            protected override Task ExecuteAsync(CancellationToken ct)
                => Task.Factory.StartNew(() => ConsumeAsync(ct), ct, TaskCreationOptions.LongRunning, Scheduler).Unwrap();

            private async Task ConsumeAsync(CancellationToken ct) {
                await ApplyAsync(_consumer.Consume(ct));
            }
        }
        """),
    good("blocking-call-in-async-code", "csharp", """
        class Progress {
            private readonly IMongoCollection<Row> _rows;

            public async Task<List<int>> Ids(CancellationToken ct) {
                var found = await _rows.Find(Any).ToListAsync(ct);
                return found.Select(each => each.Id).ToList();
            }
        }
        """),
]  # fmt: skip
