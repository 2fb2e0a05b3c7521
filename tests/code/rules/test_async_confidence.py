"""Findings about async code that are shown by default, and such that matter only if more is known."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY

_PY, _JS, _TS, _JAVA = "python", "javascript", "typescript", "java"
_CS, _KT, _RS = "csharp", "kotlin", "rust"
BY_SLUG = {rule.slug: rule for rule in RULES}

SHOWN = [
    ("swallowed-cancellation", _KT, """
        suspend fun all(sources: List<Source>) { sources.forEach { load(it) } }
        suspend fun load(source: Source) {
          runCatching { source.await() }.onFailure { log.warn("failed") }
          store.write()
        }
    """),
    ("undrained-pipe", _JAVA, """
        class A {
          boolean convert(String file) throws Exception {
            Process process = new ProcessBuilder("convert", file).start();
            return process.waitFor() == 0;
          }
        }
    """),
    ("connection-not-restored", _CS, """
        class A {
          IConnection F() {
            var factory = new ConnectionFactory { AutomaticRecoveryEnabled = false };
            return factory.CreateConnection();
          }
        }
    """),
    ("blocking-call-in-async-code", _RS, """
        use std::io::Read;
        async fn ask(path: &str) {
            let mut stream = UnixStream::connect(path).unwrap();
            stream.read_to_end(&mut buffer).ok();
        }
    """),
    ("blocking-call-in-async-code", _PY, """
        @app.get("/page")
        async def page(name):
            with open(name) as f:
                return f.read()
    """),
    ("blocking-call-in-async-code", _RS, """
        async fn page(State(app): State<App>, request: axum::extract::Request) -> String {
            std::fs::read(app.path).unwrap()
        }
    """),
    ("blocking-call-in-async-code", _CS, """
        class PageController : ControllerBase {
          [HttpGet("page")]
          public async Task<string> Page(string name) { await Check(); return File.ReadAllText(name); }
        }
    """),
    ("blocking-call-in-async-code", _CS, """
        class A { async Task F() { await G(); process.WaitForExit(); } Process process = new Process(); }
    """),
    ("blocking-call-in-async-code", _JS, """
        const { execSync } = require("child_process");
        const express = require("express");
        async function version() { return execSync("git describe"); }
    """),
    ("swallowed-cancellation", _PY, """
        async def poll(feed):
            while True:
                try:
                    await feed.next()
                except:
                    pass
    """),
    ("swallowed-cancellation", _KT, """
        suspend fun poll() {
          while (true) { try { delay(10) } catch (e: Exception) { log.warn("failed", e) } }
        }
    """),
    ("rejection-in-callback", _TS, """
        socket.on("message", async (text) => { await rooms.save(text); });
    """),
    ("promise-leaves-try", _JS, """
        async function get(id) {
          check(id);
          try { await open(); return fetch(id); } catch (error) { return null; }
        }
    """),
    ("undrained-pipe", _CS, """
        class A {
          void F(ProcessStartInfo info) {
            info.RedirectStandardOutput = true;
            using var p = Process.Start(info);
            p.WaitForExit();
          }
        }
    """),
    ("fire-and-forget", _PY, """
        import asyncio
        async def report(self): await self.client.post(1)
        async def f(self): asyncio.create_task(self.report())
    """),
    ("blocking-call-in-async-code", _PY, """
        import subprocess
        async def render(page):
            subprocess.run(["render", page])
    """),
    ("blocking-call-in-async-code", _PY, """
        import time
        async def run():
            while True:
                time.sleep(1)
    """),
]  # fmt: skip
HIDDEN = [
    # Nothing goes on after the failure, or the block around it throws the cancellation again.
    ("swallowed-cancellation", _KT, """
        suspend fun load(): Page { val page = runCatching { source.await() }.getOrNull() ?: return Page.NONE
          return render(page)
        }
    """),
    ("swallowed-cancellation", _KT, """
        suspend fun load() = withContext(Dispatchers.IO) {
          runCatching { source.await() }.onFailure { log.warn("failed") }
          note()
        }
    """),
    ("undrained-pipe", _JAVA, """
        class A {
          boolean has(String tool) throws Exception {
            Process process = new ProcessBuilder("which", tool).start();
            return process.waitFor() == 0;
          }
        }
    """),
    ("connection-not-restored", _CS, """
        class A { ConnectionFactory F() => new ConnectionFactory { AutomaticRecoveryEnabled = false }; }
    """),
    # What is written to is not known, the wait has a limit, or the work is made to be fast.
    ("blocking-call-in-async-code", _RS, """
        use std::io::Write;
        async fn put(key: &Key) { let mut out = HexWriter::with_capacity(8); out.write_all(key).ok(); }
    """),
    ("blocking-call-in-async-code", _RS, """
        use std::io::Read;
        async fn ask(path: &str) {
            let mut stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(Some(LIMIT)).ok();
            stream.read_to_end(&mut buffer).ok();
        }
    """),
    ("blocking-call-in-async-code", _RS, """
        async fn pack(data: &[u8]) -> Vec<u8> { lz4_flex::compress_prepend_size(data) }
    """),
    ("fire-and-forget", _CS, """
        class MailService { public void Send(Mail mail) { _ = DeliverAsync(mail); } }
    """),
    ("blocking-call-in-async-code", _PY, """
        import subprocess
        async def main():
            subprocess.run(["migrate"])
    """),
    ("blocking-call-in-async-code", _CS, """
        class Program { static async Task Main() { Thread.Sleep(100); await Serve(); } }
    """),
    ("fire-and-forget", _PY, """
        import asyncio
        async def report(self):
            try:
                await self.client.post(1)
            except Exception:
                log.exception("failed")
        async def f(self): asyncio.create_task(self.report())
    """),
    ("blocking-call-in-async-code", _PY, """
        async def script(page):
            with open(SCRIPT) as f:
                return await page.evaluate(f.read())
    """),
    ("blocking-call-in-async-code", _RS, """
        async fn prepare(path: &Path) -> Result<()> { std::fs::create_dir_all(path)?; Ok(()) }
    """),
    ("blocking-call-in-async-code", _CS, """
        class Packages { async Task Sign(string name) { await Check(); File.WriteAllText(name, "x"); } }
    """),
    ("blocking-call-in-async-code", _CS, """
        class A { async Task F() { await G(); process.WaitForExit(500); } Process process = new Process(); }
    """),
    ("blocking-call-in-async-code", _JS, """
        const { execSync } = require("child_process");
        async function version() { return execSync("git describe"); }
    """),
    ("blocking-call-in-async-code", _JS, """
        const fs = require("fs");
        app.get("/", (req, res) => { res.json(fs.existsSync(path)); });
    """),
    ("swallowed-cancellation", _PY, """
        async def collect(page):
            try:
                await page.collect_garbage()
            except:
                pass
    """),
    ("swallowed-cancellation", _KT, """
        suspend fun refresh() { try { delay(10) } catch (e: Exception) { log.warn("failed", e) } }
    """),
    ("swallowed-cancellation", _JAVA, """
        class A {
          void f() {
            new Thread(() -> { try { done.await(); } catch (InterruptedException e) { log.warn("cut"); } });
          }
        }
    """),
    # An object of the program, which may wait for its listeners.
    ("rejection-in-callback", _TS, """
        import { Lifecycle } from "./lifecycle";
        Lifecycle.events.on("stop", async () => { await rooms.close(); });
    """),
    # node-cron looks at the promise itself, in all but old versions.
    ("rejection-in-callback", _JS, """
        const cron = require("node-cron");
        cron.schedule("0 1 * * *", async () => { await sweep(); });
    """),
    # The catch is for what is awaited before.
    ("promise-leaves-try", _JS, """
        async function again(request) {
          prepare(request);
          try { await refresh(); return fetch(request); } catch (error) { showLogin(); }
          return failed(request);
        }
    """),
    ("undrained-pipe", _CS, """
        class A {
          void F(ProcessStartInfo info) {
            info.RedirectStandardOutput = true;
            using var p = Process.Start(info);
            p.WaitForExit(5000);
          }
        }
    """),
]  # fmt: skip


def _confidences(slug: str, language: str, code: str) -> list[float]:
    found = findings_of(dedent(code).strip("\n") + "\n", language, rules=[BY_SLUG[slug]])
    return [each.confidence for each in found]


@pytest.mark.parametrize(("slug", "language", "code"), SHOWN)
def test_a_finding_with_evidence_in_the_file_is_shown(slug: str, language: str, code: str) -> None:
    assert any(each >= LIKELY for each in _confidences(slug, language, code))


@pytest.mark.parametrize(("slug", "language", "code"), HIDDEN)
def test_a_finding_without_evidence_is_only_counted(slug: str, language: str, code: str) -> None:
    found = _confidences(slug, language, code)
    assert found
    assert all(each < LIKELY for each in found)
