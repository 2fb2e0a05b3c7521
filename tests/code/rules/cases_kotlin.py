"""Kotlin snippets for the rules that know the language."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good


def _bad(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, "kotlin", code, *lines)


def _good(rule: str, code: str) -> Case:
    return good(rule, "kotlin", code)


CASES = [
    _bad("http-call-without-timeout", "import java.net.URL\nfun load(u: String): String { return URL(u).readText() }", 2),
    _bad("http-call-without-timeout", "fun load(u: String) { val c = URL(u).openConnection() as HttpURLConnection\n c.connect() }", 1),
    _good("http-call-without-timeout", "fun load(u: String) { val c = URL(u).openConnection() as HttpURLConnection\n c.connectTimeout = 3000\n c.readTimeout = 3000 }"),
    _bad("http-call-without-timeout", "import io.ktor.client.HttpClient\nimport io.ktor.client.engine.java.Java\nval http = HttpClient(Java)\nsuspend fun load(u: String) = http.get(u)", 4),
    _good("http-call-without-timeout", "import io.ktor.client.HttpClient\nval http = HttpClient(Java) { install(HttpTimeout) { requestTimeoutMillis = 3000 } }\nsuspend fun load(u: String) = http.get(u)"),
    _good("http-call-without-timeout", "import okhttp3.OkHttpClient\nval http = OkHttpClient()\nfun load(r: Request) = http.newCall(r).execute()"),
    _bad("http-client-per-call", "import okhttp3.OkHttpClient\nfun load(r: Request): String { val c = OkHttpClient()\n val a = c.newCall(r).execute()\n return a.body!!.string() }", 2),
    _bad("http-client-per-call", "import io.ktor.client.HttpClient\nsuspend fun load(u: String): String { val c = HttpClient(CIO)\n return c.get(u).bodyAsText() }", 2),
    _good("http-client-per-call", "import okhttp3.OkHttpClient\nclass A { private val c = OkHttpClient()\n fun load(r: Request) = c.newCall(r).execute() }"),
    _good("http-client-per-call", "import okhttp3.OkHttpClient\nfun client(): OkHttpClient = OkHttpClient.Builder().build()"),
    _bad("blocking-call-in-async-code", "suspend fun f() { Thread.sleep(100) }", 1),
    _bad("blocking-call-in-async-code", "suspend fun f() { runBlocking { g() } }", 1),
    _bad("blocking-call-in-async-code", "suspend fun f(u: String) { val t = URL(u).readText()\n g(t) }", 1),
    _good("blocking-call-in-async-code", "suspend fun f() { delay(100) }"),
    _good("blocking-call-in-async-code", "suspend fun f() = withContext(Dispatchers.IO) { Thread.sleep(100) }"),
    _good("blocking-call-in-async-code", "suspend fun f() { executor.submit { Thread.sleep(100) } }"),
    _bad("blocking-call-in-async-code", "fun f() { viewModelScope.launch { Thread.sleep(100) } }", 1),
    _good("blocking-call-in-async-code", "fun f() { CoroutineScope(Dispatchers.IO).launch { Thread.sleep(100) } }"),
    _good("blocking-call-in-async-code", "fun f() { viewModelScope.launch(Dispatchers.IO) { Thread.sleep(100) } }"),
    _good("blocking-call-in-async-code", "fun f() { Thread.sleep(100) }"),
    _bad("swallowed-cancellation", "suspend fun f() { try { delay(10) } catch (e: Exception) { log.warn(\"x\", e) } }", 1),
    _good("swallowed-cancellation", "suspend fun f() { try { delay(10) } catch (e: CancellationException) { throw e } catch (e: Exception) { log.warn(\"x\", e) } }"),
    _good("swallowed-cancellation", "suspend fun f() { try { delay(10) } catch (e: IOException) { log.warn(\"x\", e) } }"),
    _good("swallowed-cancellation", "fun f() { try { g() } catch (e: Exception) { log.warn(\"x\", e) } }"),
    _bad("fire-and-forget", "fun f() { GlobalScope.launch { work() } }", 1),
    _good("fire-and-forget", "class A(private val scope: CoroutineScope) { fun f() { scope.launch { work() } } }"),
    _bad("swallowed-error", "fun f() { try { store.save(x) } catch (e: Exception) { } }", 1),
    _bad("swallowed-error", "fun f() { runCatching { store.save(x) }\n g() }", 1),
    _good("swallowed-error", "fun f() { try { store.save(x) } catch (e: Exception) { log.error(\"save\", e) } }"),
    _good("swallowed-error", "fun f() { runCatching { store.save(x) }.onFailure { log.error(\"save\", it) } }"),
    _good("swallowed-error", "fun f() { try { socket.close() } catch (e: Exception) { } }"),
    _good("swallowed-error", "fun f() { try { store.save(x) } catch (ignored: Exception) { } }"),
    _bad("unbounded-queue", "val jobs = Channel<Job>(Channel.UNLIMITED)", 1),
    _good("unbounded-queue", "val jobs = Channel<Job>(100)"),
    _bad("unbounded-fan-out", "suspend fun f(ids: List<Int>) = coroutineScope { ids.map { async { load(it) } }.awaitAll() }", 1),
    _good("unbounded-fan-out", "suspend fun f(ids: List<Int>) = coroutineScope { ids.chunked(8).flatMap { c -> c.map { async { load(it) } }.awaitAll() } }"),
    _bad("tls-not-verified", "val all = object : X509TrustManager {\n override fun checkServerTrusted(c: Array<X509Certificate>, t: String) {}\n}", 2),
    _bad("tls-not-verified", "fun f() { builder.hostnameVerifier { _, _ -> true } }", 1),
    _good("tls-not-verified", "val one = object : X509TrustManager {\n override fun checkServerTrusted(c: Array<X509Certificate>, t: String) { check(c[0]) }\n}"),
    _bad("wall-clock-for-durations", "fun f(): Long { val t = System.currentTimeMillis()\n go()\n return System.currentTimeMillis() - t }", 3),
    _good("wall-clock-for-durations", "fun f(): Long { val t = System.nanoTime()\n go()\n return System.nanoTime() - t }"),
    _bad("secret-in-code", "const val API_KEY = \"q8Zt71kfLw02mXv5\"", 1),
    _good("secret-in-code", "val apiKey = System.getenv(\"API_KEY\")"),
    _good("secret-in-code", "fun f(id: String) { val secret = \"prefix$id/suffix99\" }"),
    _bad("secret-in-log", "fun f(password: String) { logger.info(\"login {}\", password) }", 1),
    _bad("secret-in-log", "fun f(password: String) { Log.d(TAG, \"login ${password}\") }", 1),
    _good("secret-in-log", "fun f(password: String) { logger.info(\"login {}\", password.length) }"),
    _bad("catastrophic-expression", "val R = Regex(\"^(a+)+$\")", 1),
    _good("catastrophic-expression", "val R = Regex(\"^a+$\")"),
    _bad("file-not-closed", "fun f(p: File): Int { val s = FileInputStream(p)\n return s.read() }", 1),
    _good("file-not-closed", "fun f(p: File): Int = FileInputStream(p).use { it.read() }"),
    _good("file-not-closed", "fun f(p: String): String = File(p).inputStream().bufferedReader().use { it.readText() }"),
    _good("file-not-closed", "fun f(p: File): FileChannel { val c = RandomAccessFile(p, \"r\").channel\n c.position(3)\n return c }"),
    _bad("connection-not-closed", "fun f() { val c = DriverManager.getConnection(u)\n c.createStatement() }", 1),
    _good("connection-not-closed", "fun f() { DriverManager.getConnection(u).use { it.createStatement() } }"),
    _bad("unchecked-response-status", "import okhttp3.OkHttpClient\nval http = OkHttpClient()\nfun f(r: Request): String { val a = http.newCall(r).execute()\n return a.body!!.string() }", 3),
    _good("unchecked-response-status", "import okhttp3.OkHttpClient\nval http = OkHttpClient()\nfun f(r: Request): String { val a = http.newCall(r).execute()\n if (!a.isSuccessful) throw IOException()\n return a.body!!.string() }"),
    _bad("busy-loop", "fun f() { while (!done) { } }", 1),
    _good("busy-loop", "fun f() { while (!done) { Thread.sleep(10) } }"),
    _bad("retry-without-backoff", "suspend fun f() { for (i in 1..3) { try { go()\n return } catch (e: IOException) { last = e } } }", 1),
    _good("retry-without-backoff", "suspend fun f() { for (i in 1..3) { try { go()\n return } catch (e: IOException) { delay(100L shl i) } } }"),
    _bad("retry-without-limit", "suspend fun f() { while (true) { try { go()\n return } catch (e: IOException) { delay(d) } } }", 1),
    _good("retry-without-limit", "suspend fun f() { for (i in 1..3) { try { go()\n return } catch (e: IOException) { delay(d) } } }"),
    _bad("lock-held-over-io", "fun f(u: String) { synchronized(lock) { Thread.sleep(1000) } }", 1),
    _good("lock-held-over-io", "fun f(u: String) { synchronized(lock) { n += 1 }\n Thread.sleep(1000) }"),
    _bad("call-per-item", "class A(val orders: OrderRepository, val customerRepository: CustomerRepository) {\n @GetMapping(\"/orders\")\n fun all(): List<R> { val found = orders.findAll()\n return found.map { R(it, customerRepository.findById(it.customerId)) } }\n}", 4),
    _good("call-per-item", "class A(val orders: OrderRepository, val customerRepository: CustomerRepository) {\n @GetMapping(\"/orders\")\n fun all(): List<R> { val found = orders.findAll()\n val known = customerRepository.findAllById(found.map { it.customerId })\n return found.map { R(it, known) } }\n}"),
    _bad("write-per-row", "class A(val userRepository: UserRepository) {\n @PostMapping(\"/users\")\n fun add(@RequestBody users: List<User>) { for (u in users) { userRepository.save(u) } }\n}", 3),
    _good("write-per-row", "class A(val userRepository: UserRepository) {\n @PostMapping(\"/users\")\n fun add(@RequestBody users: List<User>) { userRepository.saveAll(users) }\n}"),
    _bad("abrupt-exit", "fun load() { exitProcess(1) }", 1),
    _good("abrupt-exit", "fun main() { exitProcess(1) }"),
    _bad("swallowed-cancellation", "fun start(scope: CoroutineScope) = scope.launch {\n while (true) {\n  try { delay(10) } catch (e: Exception) { log.warn(e) }\n }\n}", 3),
    _bad("swallowed-cancellation", "interface Feed { suspend fun next(): Item }\nclass A(private val feed: Feed) {\n fun start() { scope.async { try { show(feed.next()) } catch (e: Throwable) { show(null) } } }\n}", 3),
    _good("swallowed-cancellation", "fun start(scope: CoroutineScope) = scope.launch {\n try { delay(10) } catch (e: CancellationException) { throw e } catch (e: Exception) { log.warn(e) }\n}"),
    _good("swallowed-cancellation", "fun start() { executor.submit { try { queue.receive() } catch (e: Exception) { log.warn(e) } } }"),
    _bad("task-waited-for-by-thread", "import kotlinx.coroutines.runBlocking\nsuspend fun f(): Int = runBlocking { load() }", 2),
    _bad("task-waited-for-by-thread", "import io.ktor.server.routing.get\nimport kotlinx.coroutines.runBlocking\nclass A {\n fun load(): Int = runBlocking { fetch() }\n}\nfun Route.all(a: A) { get(\"/x\") { call.respond(a.load()) } }", 4),
    _good("task-waited-for-by-thread", "import kotlinx.coroutines.runBlocking\nfun main() = runBlocking { serve() }"),
    _good("task-waited-for-by-thread", "suspend fun f(): Int = withContext(Dispatchers.IO) { load() }"),
    _good("unchecked-response-status", "import io.ktor.client.HttpClient\nclass A {\n private val http = HttpClient(CIO) { expectSuccess = true }\n suspend fun f(u: String): V = http.get(u) { header(k, v) }.body()\n}"),
]  # fmt: skip
