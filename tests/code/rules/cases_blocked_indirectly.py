"""Blocking calls that async code and event loops reach by extension functions, references and `?? throw`."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "blocking-call-in-async-code"

_KOTLIN = """
        import java.net.URI

        private fun URI.readFeed(): ByteArray {
            val connection = toURL().openConnection().apply { readTimeout = 5_000 }
            return connection.getInputStream().use { it.readNBytes(1024) }
        }

        suspend fun latest(source: URI): ByteArray {
            return source.readFeed()
        }
        """
_CSHARP = """
        static class Feeds {
            public static string ReadFeed(this Uri uri, int size) {
                Thread.Sleep(size);
                return "";
            }
        }

        class Api {
            async Task<string> Latest(Uri source) {
                await Task.Delay(1);
                return source.ReadFeed(3);
            }
        }
        """
_THROWN = """
        using System.Diagnostics;

        class Probe {
            public async Task<int> Run(ProcessStartInfo start) {
                using var probe = Process.Start(start) ?? throw new InvalidOperationException("no probe");
                await Note(start);
                probe.WaitForExit(20000);
                return probe.ExitCode;
            }
        }
        """
_VERTX = """
        import io.vertx.core.AbstractVerticle;
        import java.sql.*;
        import javax.sql.DataSource;

        class Setpoints extends AbstractVerticle {
            private final DataSource source;

            public void start() {
                vertx.eventBus().consumer("setpoint", this::answer);
            }

            private void answer(Message<JsonObject> request) {
                request.reply(load(request.body()));
            }

            private double load(String bay) throws SQLException {
                try (Connection c = source.getConnection()) {
                    return read(c, bay);
                }
            }
        }
        """
_VERTX_KOTLIN = """
        import io.vertx.core.AbstractVerticle
        import javax.sql.DataSource

        class Setpoints(private val source: DataSource) : AbstractVerticle() {
            override fun start() {
                router.get("/x").handler { ctx -> ctx.end(load("a")) }
            }

            private fun load(bay: String): String = source.getConnection().use { read(it, bay) }
        }
        """
_REACTOR_KOTLIN = """
        import reactor.core.publisher.Mono
        import org.springframework.jdbc.core.JdbcTemplate

        class Users(private val jdbc: JdbcTemplate) {
            fun name(id: String): Mono<String> = Mono.fromCallable { jdbc.queryForObject(SQL, T) }
        }
        """
_RESOLVER = """
        use std::net::{SocketAddr, ToSocketAddrs};

        fn resolve(host: &str) -> Option<Vec<SocketAddr>> {
            (host, 443).to_socket_addrs().ok().map(Iterator::collect)
        }

        pub async fn acceptable(host: &str) -> bool {
            let lookup = async { resolve(host) };
            lookup.await.is_some()
        }
        """

CASES = [
    bad(_RULE, "kotlin", _KOTLIN, 9),
    good(_RULE, "kotlin", _KOTLIN.replace("source.readFeed()", "withContext(Dispatchers.IO) { source.readFeed() }")),
    good(_RULE, "kotlin", _KOTLIN.replace("latest(source: URI)", "latest(source: Path)")),
    bad(_RULE, "csharp", _CSHARP, 11),
    good(_RULE, "csharp", _CSHARP.replace("Latest(Uri source)", "Latest(Feed source)")),
    good(_RULE, "csharp", _CSHARP.replace("source.ReadFeed(3)", "await Task.Run(() => source.ReadFeed(3))")),
    bad(_RULE, "csharp", _THROWN, 7),
    good(_RULE, "csharp", _THROWN.replace("probe.WaitForExit(20000)", "await probe.WaitForExitAsync(limit)")),
    bad(_RULE, "java", _VERTX, 13),
    good(_RULE, "java", _VERTX.replace("load(request.body())", "vertx.executeBlocking(() -> load(request.body()))")),
    good(_RULE, "java", _VERTX.replace("public void start() {", "Options o = new Options().setWorker(true);\n    public void start() {")),
    bad(_RULE, "kotlin", _VERTX_KOTLIN, 6),
    good(_RULE, "kotlin", _VERTX_KOTLIN.replace(".handler {", ".blockingHandler {")),
    bad(_RULE, "kotlin", _REACTOR_KOTLIN, 5),
    good(_RULE, "kotlin", _REACTOR_KOTLIN.replace("T) }", "T) }.subscribeOn(Schedulers.boundedElastic())")),
    bad(_RULE, "rust", _RESOLVER, 8),
    good(_RULE, "rust", _RESOLVER.replace("async { resolve(host) }", "spawn_blocking(move || resolve(host))")),
    good(_RULE, "rust", _RESOLVER.replace("acceptable", "main")
         .replace("async { resolve(host) }", "(host, 443).to_socket_addrs()").replace("fn resolve", "fn setup")),
]  # fmt: skip
