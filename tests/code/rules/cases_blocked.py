"""Event loops that are blocked through helpers, and pools that wait for themselves."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

BLOCK = "blocking-call-in-async-code"
DEADLOCK = "deadlock"

CASES = [
    bad(BLOCK, "python", """
        import pandas as pd
        def summary(data):
            return pd.read_excel(data).sum()
        async def report(file):
            return summary(await file.read())
        """, 5),
    good(BLOCK, "python", """
        import asyncio
        import pandas as pd
        def summary(data):
            return pd.read_excel(data).sum()
        async def report(file):
            return await asyncio.to_thread(summary, await file.read())
        """),
    bad(BLOCK, "javascript", """
        const fs = require("fs");
        module.exports = () => async (ctx, next) => {
          ctx.body = fs.readFileSync(ctx.path);
          await next();
        };
        """, 3),
    bad(BLOCK, "java", """
        import org.springframework.jdbc.core.JdbcTemplate;
        import reactor.core.publisher.Mono;
        class Profiles {
            private final JdbcTemplate jdbc;
            private Profile load(long id) { return jdbc.queryForObject(SQL, MAPPER, id); }
            @GetMapping("/profiles/{id}")
            public Mono<Profile> get(long id) { return Mono.just(load(id)); }
        }
        """, 7),
    good(BLOCK, "java", """
        import org.springframework.jdbc.core.JdbcTemplate;
        import reactor.core.publisher.Mono;
        class Profiles {
            private final JdbcTemplate jdbc;
            private Profile load(long id) { return jdbc.queryForObject(SQL, MAPPER, id); }
            @GetMapping("/profiles/{id}")
            public Mono<Profile> get(long id) {
                return Mono.fromCallable(() -> load(id)).subscribeOn(Schedulers.boundedElastic());
            }
        }
        """),
    bad(BLOCK, "kotlin", """
        import java.io.File
        import io.ktor.server.routing.*
        fun checksum(file: File): String = file.inputStream().use { digest(it) }
        fun Route.files(folder: File) {
            get("/sums/{name}") {
                call.respondText(checksum(File(folder, "a")))
            }
        }
        """, 6),
    bad(DEADLOCK, "python", """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(max_workers=4)
        def document(pages):
            parts = [pool.submit(render, page) for page in pages]
            return [each.result(timeout=9) for each in parts]
        def documents(all_pages):
            return [pool.submit(document, pages) for pages in all_pages]
        """, 4),
    good(DEADLOCK, "python", """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(max_workers=4)
        others = ThreadPoolExecutor(max_workers=4)
        def document(pages):
            parts = [others.submit(render, page) for page in pages]
            return [each.result(timeout=9) for each in parts]
        def documents(all_pages):
            return [pool.submit(document, pages) for pages in all_pages]
        """),
    bad(DEADLOCK, "java", """
        class Reports {
            private final ExecutorService pool = Executors.newFixedThreadPool(4);
            Future<Report> create(List<Part> parts) { return pool.submit(() -> assemble(parts)); }
            private Report assemble(List<Part> parts) throws Exception {
                Future<String> first = pool.submit(parts.get(0)::render);
                return new Report(first.get(9, TimeUnit.SECONDS));
            }
        }
        """, 5),
    good(DEADLOCK, "java", """
        class Reports {
            private final ExecutorService pool = Executors.newFixedThreadPool(4);
            Future<Report> create(List<Part> parts) { return pool.submit(() -> assemble(parts)); }
            private Report assemble(List<Part> parts) { return new Report(parts); }
            Report now(List<Part> parts) throws Exception { return create(parts).get(9, TimeUnit.SECONDS); }
        }
        """),
]  # fmt: skip
