"""What a file must prove before a finding about async code is shown, next to code that lacks the proof."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.unproved_async import NOT_SHOWN

_PY, _JS, _TS, _JAVA, _GO = "python", "javascript", "typescript", "java", "go"
_CS, _KT, _RS = "csharp", "kotlin", "rust"
BY_SLUG = {rule.slug: rule for rule in RULES}

SHOWN = [
    # It is awaited as a statement elsewhere: where it is not, that is an omission.
    ("fire-and-forget", _JS, """
        async function remove(id) { await store.drop(id); await audit.note(id); }
        async function clear(id) { await store.drop(id); audit.note(id); }
    """),
    ("fire-and-forget", _JS, """
        async function put(rows) { db.collection("rows").updateOne({ id: 1 }, { $set: rows }); }
    """),
    ("fire-and-forget", _TS, """
        class A {
          constructor(private readonly audit: AuditStore) {}
          async f(data: Data) { await this.check(data); this.audit.record(data); }
        }
    """),
    ("fire-and-forget", _TS, """
        async function save(row: Row) { await db.insertInto("rows").values(row).execute(); }
        function f(row: Row) { void save(row); }
    """),
    ("fire-and-forget", _KT, """
        import kotlinx.coroutines.GlobalScope
        import kotlinx.coroutines.launch
        fun note(order: Order) { GlobalScope.launch(Dispatchers.IO) { store.save(order) } }
    """),
    # The interrupt does not end the work: it begins again, waits for the next, or is taken for a success.
    ("swallowed-cancellation", _JAVA, """
        class A {
          byte[] print(Page page) throws Exception {
            try { return renderer.print(page, true); }
            catch (IOException | InterruptedException e) { return renderer.print(page, false); }
          }
        }
    """),
    ("swallowed-cancellation", _JAVA, """
        class A {
          void all(List<Future<Row>> rows) {
            for (Future<Row> row : rows) {
              try { store(row.get()); } catch (InterruptedException | ExecutionException e) { log.warn(e); }
            }
          }
        }
    """),
    ("swallowed-cancellation", _JAVA, """
        class A {
          boolean claim(String key) {
            try { lock.lockInterruptibly(); owners.put(key, me); }
            catch (InterruptedException e) { log.error("failed", e); }
            return true;
          }
        }
    """),
    ("swallowed-cancellation", _JAVA, """
        class A {
          void poll() { while (!Thread.currentThread().isInterrupted()) { read(); pause(); } }
          void pause() { try { Thread.sleep(500); } catch (InterruptedException e) { log.debug("early"); } }
        }
    """),
    ("blocking-call-in-async-code", _RS, """
        async fn page(State(app): State<App>, request: axum::extract::Request) -> String {
            std::fs::read_to_string(app.root.join(request.uri().path())).unwrap()
        }
    """),
    ("blocking-call-in-async-code", _PY, """
        import threading
        lock = threading.Lock()
        async def f():
            lock.acquire()
    """),
    ("rejection-in-callback", _TS, """
        io.on("connection", (socket) => {
          socket.on("join", async (room) => { await rooms.enter(room); });
        });
    """),
    ("dropped-future", _JAVA, """
        class A {
          void f(Order order) { executor.submit(() -> push(order)); }
          void push(Order order) { gateway.send(order); }
        }
    """),
    ("dropped-future", _JAVA, """
        class A {
          void f(Order order) {
            CompletableFuture<Void> sent = gateway.send(order);
            sent.thenAccept(it -> note(order));
          }
        }
    """),
    ("dropped-future", _CS, """
        class A {
          async Task F() {
            var upload = UploadAsync();
            await Task.WhenAny(upload, Task.Delay(1000));
          }
        }
    """),
    ("task-results-dropped", _GO, """
        package a
        import "golang.org/x/sync/errgroup"
        func f(items []Item) {
            var g errgroup.Group
            for _, item := range items { g.Go(func() error { return store(item) }) }
            g.Wait()
        }
    """),
    ("task-results-dropped", _RS, """
        async fn store_all(rows: Vec<Row>) {
            futures::future::join_all(rows.into_iter().map(|row| store(row))).await;
        }
    """),
    ("task-results-dropped", _JS, """
        async function update(rows) { await Promise.allSettled(rows.map((row) => store.update(row))); }
    """),
    ("task-waited-for-by-thread", _CS, """
        class A { async Task F() { var loaded = LoadAsync(); Use(loaded.Result); await G(); } }
    """),
    ("async-void", _CS, """
        using Microsoft.Extensions.Hosting;
        class A { void F() { feed.Closed += async (s, e) => { await store.SaveAsync(e); }; } }
    """),
]  # fmt: skip


def _is_shown(slug: str, language: str, code: str) -> bool:
    found = findings_of(dedent(code).strip("\n") + "\n", language, rules=[BY_SLUG[slug]])
    return any(each.confidence >= LIKELY for each in found)


@pytest.mark.parametrize(("slug", "language", "code"), SHOWN)
def test_a_proved_finding_is_shown(slug: str, language: str, code: str) -> None:
    assert _is_shown(slug, language, code)


@pytest.mark.parametrize(("slug", "language", "code"), NOT_SHOWN)
def test_a_finding_that_lacks_the_proof_is_not_shown(slug: str, language: str, code: str) -> None:
    assert not _is_shown(slug, language, code)
