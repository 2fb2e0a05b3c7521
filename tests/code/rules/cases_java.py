"""Java snippets for the rules of reliability."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good


def _bad(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, "java", f"class A {{\n{code}\n}}", *(line + 1 for line in lines))


def _good(rule: str, code: str) -> Case:
    return good(rule, "java", f"class A {{\n{code}\n}}")


CASES = [
    _bad("http-call-without-timeout", "HttpClient c = HttpClient.newHttpClient();\nvoid f() { c.send(HttpRequest.newBuilder(u).build(), h); }", 2),
    _good("http-call-without-timeout", "HttpClient c = HttpClient.newHttpClient();\nvoid f() { c.send(HttpRequest.newBuilder(u).timeout(d).build(), h); }"),
    _bad("socket-without-timeout", "void f() { Socket s = new Socket(host, 80); s.close(); }", 1),
    _good("socket-without-timeout", "void f() { Socket s = new Socket(host, 80); s.setSoTimeout(5); }"),
    _bad("retry-without-backoff", "void f() { for (int i = 0; i < 3; i++) { try { go(); return; } catch (IOException e) { last = e; } } }", 1),
    _good("retry-without-backoff", "void f() { for (int i = 0; i < 3; i++) { try { go(); return; } catch (IOException e) { Thread.sleep(100L << i); } } }"),
    _bad("retry-without-limit", "void f() { while (true) { try { go(); return; } catch (IOException e) { Thread.sleep(d); } } }", 1),
    _bad("swallowed-error", "void f() { try { go(); } catch (SQLException e) { } }", 1),
    _good("swallowed-error", "void f() { try { go(); } catch (SQLException e) { log.error(\"x\", e); } }"),
    _bad("broad-catch", "void f() { try { go(); } catch (Throwable t) { x = 1; } }", 1),
    _good("broad-catch", "void f() { try { go(); } catch (Exception e) { throw new IllegalStateException(e); } }"),
    _bad("file-not-closed", "void f() { FileReader r = new FileReader(p); r.read(); }", 1),
    _good("file-not-closed", "void f() { try (FileReader r = new FileReader(p)) { r.read(); } }"),
    _good("file-not-closed", "void f() { try (var r = new BufferedReader(new FileReader(p))) { r.read(); } }"),
    _bad("connection-not-closed", "void f() { Connection c = DriverManager.getConnection(u); c.createStatement(); }", 1),
    _good("connection-not-closed", "void f() { try (Connection c = DriverManager.getConnection(u)) { c.createStatement(); } }"),
    _bad("unbounded-queue", "BlockingQueue<Job> q = new LinkedBlockingQueue<>();", 1),
    _good("unbounded-queue", "BlockingQueue<Job> q = new LinkedBlockingQueue<>(100);"),
    _bad("unbounded-cache", "Map<String, X> cache = new HashMap<>();\nX get(String k) { cache.put(k, load(k)); return cache.get(k); }", 1),
    _bad("unbounded-fan-out", "ExecutorService e = Executors.newCachedThreadPool();", 1),
    _good("unbounded-fan-out", "ExecutorService e = Executors.newFixedThreadPool(4);"),
    _bad("unbounded-recursion", "void f() { try { go(); } catch (IOException e) { f(); } }", 1),
    _bad("swallowed-cancellation", "void f() { try { Thread.sleep(1); } catch (InterruptedException e) { log.warn(\"x\"); } }", 1),
    _good("swallowed-cancellation", "void f() { try { Thread.sleep(1); } catch (InterruptedException e) { Thread.currentThread().interrupt(); } }"),
    _bad("abrupt-exit", "void load() { System.exit(1); }", 1),
    _good("abrupt-exit", "public static void main(String[] a) { System.exit(1); }"),
    _bad("wall-clock-for-durations", "long f() { long t = System.currentTimeMillis(); go(); return System.currentTimeMillis() - t; }", 1),
    _good("wall-clock-for-durations", "long f() { long t = System.nanoTime(); go(); return System.nanoTime() - t; }"),
    _bad("lock-not-released", "void f() { lock.lock(); go(); lock.unlock(); }", 1),
    _good("lock-not-released", "void f() { lock.lock(); try { go(); } finally { lock.unlock(); } }"),
    _bad("unchecked-response-status", "HttpClient c = HttpClient.newHttpClient();\nString f() { HttpResponse<String> r = c.send(q, h); return r.body(); }", 2),
    _good("unchecked-response-status", "HttpClient c = HttpClient.newHttpClient();\nString f() { HttpResponse<String> r = c.send(q, h); if (r.statusCode() != 200) throw e; return r.body(); }"),
    _bad("busy-loop", "void f() { while (!done) {} }", 1),
    _bad("writes-without-transaction", "void f() { jdbc.update(\"UPDATE a SET n = 1\");\n jdbc.update(\"UPDATE b SET n = 1\"); }", 2),
    _good("writes-without-transaction", "@Transactional\nvoid f() { jdbc.update(\"UPDATE a SET n = 1\");\n jdbc.update(\"UPDATE b SET n = 1\"); }"),
]  # fmt: skip
