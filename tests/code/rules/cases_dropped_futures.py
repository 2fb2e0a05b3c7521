"""Futures of functions of the same text that nothing asks for their error, and lists given to async callbacks."""

# ruff: noqa: E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_RULE, _FORGET = "dropped-future", "fire-and-forget"
_JAVA = """
    class Access {{
        CompletableFuture<Receipt> open(String id) {{
            return bus.unlock(id).thenCompose(door -> {{
                {}
            }});
        }}
        private CompletableFuture<Void> record(Receipt receipt) {{
            return audit.append(receipt).orTimeout(3, TimeUnit.SECONDS){};
        }}
        interface AuditStore {{
            CompletionStage<Void> append(Receipt receipt);
        }}
        void note(Receipt receipt) {{
            {};
        }}
    }}
    """
_KOTLIN = """
    class Refunds(private val bank: Bank) {{
        suspend fun run(due: List<Deposit>) {{
            {} {{
                {}
            }}
        }}
        private fun CoroutineScope.refund(deposit: Deposit): Deferred<Unit> = async {{ bank.transfer(deposit.id) }}
    }}
    """
_RUST = """
    impl Notary {{
        async fn audit(&self, deed: Uuid) -> Result<(), E> {{ insert(&self.pool, deed).await }}
        async fn seal(&self, deed: Uuid) -> Result<(), E> {{
            let _ = self.audit(deed){};
            Ok(())
        }}
    }}
    """
_CSHARP = """
    class Archive {{
        async Task<Stored> StoreAsync(BinaryData document, CancellationToken ct) {{
            var upload = _blob.UploadAsync(document, ct);
            var slow = Task.Delay(TimeSpan.FromSeconds(15), ct);
            if (await Task.WhenAny(upload, slow) == slow) {{ _logger.LogWarning("slow"); }}
            {}
            return new Stored();
        }}
    }}
    """
_TYPESCRIPT = """
    function chunk<T>(items: readonly T[], size: number): T[][] {{
      return Array.from({{ length: Math.ceil(items.length / size) }}, (_, i) => items.slice(i * size, (i + 1) * size));
    }}
    export class Import {{
      async run(rows: Row[]): Promise<void> {{
        {}.forEach(async (batch) => {{
          await this.db.insert(table).values(batch);
        }});
        await this.setState('complete');
      }}
    }}
    """

CASES: list[Case] = [
    bad(
        _RULE, "java", _JAVA.format("record(receipt); return done(door);", "", "audit.append(receipt)"), 4, 14
    ),
    good(
        _RULE,
        "java",
        _JAVA.format("return record(receipt);", "", "audit.append(receipt).whenComplete(this::log)"),
    ),
    good(
        _RULE,
        "java",
        _JAVA.format("record(receipt); return done(door);", ".exceptionally(this::log)", "run()"),
    ),
    bad(_RULE, "kotlin", _KOTLIN.format("supervisorScope", "due.forEach { refund(it) }"), 4),
    good(_RULE, "kotlin", _KOTLIN.format("supervisorScope", "due.map { refund(it) }.awaitAll()")),
    good(_RULE, "kotlin", _KOTLIN.format("coroutineScope", "due.forEach { refund(it) }")),
    bad(_RULE, "rust", _RUST.format(""), 4),
    good(_RULE, "rust", _RUST.format(".await")),
    bad(_RULE, "csharp", _CSHARP.format(""), 5),
    good(_RULE, "csharp", _CSHARP.format("await upload;")),
    bad(_FORGET, "typescript", _TYPESCRIPT.format("chunk(rows, 500)"), 6),
    good(_FORGET, "typescript", _TYPESCRIPT.format("this.reader()")),
]
