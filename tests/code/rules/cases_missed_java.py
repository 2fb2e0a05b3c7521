"""Java code that is wrong and was once passed by, each beside its right twin."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good


def _bad(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, "java", code, *lines)


def _good(rule: str, code: str) -> Case:
    return good(rule, "java", code)


_ANSWER = """
import okhttp3.*;
class Prices {
    private final OkHttpClient http;
    String price(Request request) throws IOException {
        Response answer = http.newCall(request).execute();
        %s
        String text = answer.body().string();
        return text;
    }
}
"""
_LOOP = """
class Sender implements Runnable {
    public void run() {
        while (%s) {
            try {
                send(queue.take());
            } catch (InterruptedException e) {
                %s
            }
        }
    }
}
"""
_TRUST = """
class Tls {
    X509TrustManager manager() {
        return new X509TrustManager() {
            public void checkClientTrusted(X509Certificate[] chain, String type) { }
            public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
                %s
            }
        };
    }
}
"""
_RECORD = """
class Accounts {
    record Login(String user, String password) { }
    void open(Login sent) {
        log.info("opened for {}", %s);
    }
}
"""
_FILTER = """
class Log implements Filter {
    static final ThreadLocal<String> USER = new ThreadLocal<>();
    public void doFilter(ServletRequest q, ServletResponse r, FilterChain chain) throws IOException {
        %s
        %s
    }
    static void keep(String id) { USER.set(id); }
    static void clear() { USER.remove(); }
}
"""
_TASKS = """
class Sizes {
    int all(List<Shop> shops) throws Exception {
        List<Future<Integer>> started = new ArrayList<>();
        for (Shop shop : shops) started.add(executor.submit(() -> shop.size()));
        int sum = 0;
        for (Future<Integer> one : started) {
            %s
        }
        return sum;
    }
}
"""
_MOVE = """
class Stock {
    %spublic void move(long a, long b) { %s }
    private void take(long id) { jdbc.sql("UPDATE stock SET n = n - 1 WHERE id = :id").param(id).update(); }
    private void give(long id) { jdbc.update("UPDATE stock SET n = n + 1 WHERE id = ?", id); }
}
"""

CASES = [
    # A response that is thrown away unread, or read by what may fail.
    _bad(
        "released-on-success-only",
        _ANSWER % "if (!answer.isSuccessful()) throw new IOException(answer.message());",
        5,
    ),
    _good(
        "released-on-success-only",
        _ANSWER % "if (!answer.isSuccessful()) { answer.close(); throw new IOException(answer.message()); }",
    ),
    _good("released-on-success-only", _ANSWER % "int code = answer.code();"),
    _good("released-on-success-only", _ANSWER % "check(answer);"),
    # The exception clears the flag that the loop asks for.
    _bad(
        "swallowed-cancellation", _LOOP % ("!Thread.currentThread().isInterrupted()", 'log.info("woken");'), 6
    ),
    _bad("swallowed-cancellation", _LOOP % ("true", 'log.info("woken");'), 6),
    _good("swallowed-cancellation", _LOOP % ("true", "return;")),
    _good("swallowed-cancellation", _LOOP % ("running", 'log.info("woken");')),
    _good("swallowed-cancellation", _LOOP % ("!Thread.interrupted()", "Thread.currentThread().interrupt();")),
    # Everything is trusted.
    _bad("tls-not-verified", _TRUST % "// internal network", 5),
    _good("tls-not-verified", _TRUST % "inner.checkServerTrusted(chain, type);"),
    _bad(
        "tls-not-verified",
        "class A { void open(B b) {\n b.hostnameVerifier((host, session) -> true);\n} }",
        2,
    ),
    _good("tls-not-verified", "class A { void open(B b) {\n b.hostnameVerifier(new StrictVerifier());\n} }"),
    _bad(
        "tls-not-verified",
        "class A {\n public boolean verify(String host, SSLSession session) { return true; }\n}",
        2,
    ),
    _good(
        "tls-not-verified",
        "class A {\n boolean verify(String user, String code) { return true; }\n}",
    ),
    # The text of a record shows all its parts.
    _bad("secret-in-log", _RECORD % "sent", 4),
    _good("secret-in-log", _RECORD % "sent.user()"),
    _good("secret-in-log", _RECORD.replace("{ }", "{ public String toString() { return user; } }") % "sent"),
    bad(
        "secret-in-log",
        "kotlin",
        'data class Login(val password: String)\nfun open(sent: Login) {\n log.info("{}", sent)\n}',
        3,
    ),
    _good("released-on-success-only", _ANSWER % "Parser parser = new Parser();"),
    _good("tls-not-verified", _TRUST.replace("return new", "X509TrustManager noop = new") % ""),
    # What the next request on the thread still has.
    _bad("thread-local-not-removed", _FILTER % ('MDC.put("id", id(q));', "chain.doFilter(q, r);"), 4),
    _bad(
        "thread-local-not-removed", _FILTER % ("USER.set(id(q));", "chain.doFilter(q, r); USER.remove();"), 4
    ),
    _bad("thread-local-not-removed", _FILTER % ("Log.keep(id(q));", "chain.doFilter(q, r);"), 4),
    _good(
        "thread-local-not-removed",
        _FILTER % ('MDC.put("id", id(q));', "try { chain.doFilter(q, r); } finally { MDC.clear(); }"),
    ),
    _good(
        "thread-local-not-removed",
        _FILTER % ("Log.keep(id(q));", "try { chain.doFilter(q, r); } finally { Log.clear(); }"),
    ),
    _good("thread-local-not-removed", _FILTER % ("options.set(id(q));", "chain.doFilter(q, r);")),
    # Waits for what was started.
    _bad("future-without-timeout", _TASKS % "sum += one.get();", 7),
    _good("future-without-timeout", _TASKS % "sum += one.get(2, TimeUnit.SECONDS);"),
    _good("future-without-timeout", _TASKS % "sum += sizes.get();"),
    _good("future-without-timeout", "class A { int now(Future<Integer> done) { return done.get(); } }"),
    # Writes in methods of the same class.
    _bad("writes-without-transaction", _MOVE % ("", "take(a); give(b);"), 2),
    _good("writes-without-transaction", _MOVE % ("@Transactional ", "take(a); give(b);")),
    _good("writes-without-transaction", _MOVE % ("", "if (a > b) { take(a); } else { give(b); }")),
    _good("writes-without-transaction", _MOVE % ("", "take(a);")),
]
