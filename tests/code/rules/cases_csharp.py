"""C# snippets for the rules that know the language."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good


def _bad(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, "csharp", f"class A {{\n{code}\n}}", *(line + 1 for line in lines))


def _good(rule: str, code: str) -> Case:
    return good(rule, "csharp", f"class A {{\n{code}\n}}")


CASES = [
    _bad("http-call-without-timeout", "async Task<string> F(string u) { var c = new HttpClient(); return await c.GetStringAsync(u); }", 1),
    _good("http-call-without-timeout", "async Task<string> F(string u) { var c = new HttpClient { Timeout = TimeSpan.FromSeconds(3) }; return await c.GetStringAsync(u); }"),
    _good("http-call-without-timeout", "async Task<string> F(string u, CancellationToken ct) { var c = new HttpClient(); return await c.GetStringAsync(u, ct); }"),
    _good("http-call-without-timeout", "private readonly HttpClient _http;\nasync Task<string> F(string u) { return await _http.GetStringAsync(u); }"),
    _bad("http-client-per-call", "async Task<string> F(string u) { using var c = new HttpClient(); return await c.GetStringAsync(u).ConfigureAwait(false); }", 1),
    _bad("http-client-per-call", "async Task<string> F(string u) { using (var c = new HttpClient()) { return await c.GetStringAsync(u); } }", 1),
    _good("http-client-per-call", "static readonly HttpClient Client = new();\nasync Task<string> F(string u) { return await Client.GetStringAsync(u); }"),
    _good("http-client-per-call", "HttpClient Make() { var c = new HttpClient(); return c; }"),
    _bad("blocking-call-in-async-code", "async Task F() { Thread.Sleep(100); await G(); }", 1),
    _bad("blocking-call-in-async-code", "async Task F() { var t = File.ReadAllText(p); await G(t); }", 1),
    _good("blocking-call-in-async-code", "async Task F() { await Task.Delay(100); }"),
    _good("blocking-call-in-async-code", "void F() { Thread.Sleep(100); }"),
    _good("blocking-call-in-async-code", "async Task F() { await Task.Run(() => Thread.Sleep(100)); }"),
    _bad("task-waited-for-by-thread", "string F() { return LoadAsync().Result; }", 1),
    _bad("task-waited-for-by-thread", "void F() { SaveAsync(x).Wait(); }", 1),
    _bad("task-waited-for-by-thread", "async Task F() { var x = LoadAsync().GetAwaiter().GetResult(); }", 1),
    _good("task-waited-for-by-thread", "async Task<string> F() { return await LoadAsync(); }"),
    _good("task-waited-for-by-thread", "async Task F() { var a = LoadAsync(); await Task.WhenAll(a, b); Use(a.Result); }"),
    _good("task-waited-for-by-thread", "static void Main() { RunAsync().Wait(); }"),
    _bad("async-void", "public async void Load() { await G(); }", 1),
    _good("async-void", "public async Task Load() { await G(); }"),
    _good("async-void", "private async void OnClick(object sender, EventArgs e) { await G(); }"),
    _good("async-void", "public async void Load() { try { await G(); } catch (Exception e) { log.Error(e); } }"),
    _bad("cancellation-not-passed-on", "async Task<R> F(int id, CancellationToken ct) { return await _db.Orders.FirstOrDefaultAsync(o => o.Id == id); }", 1),
    _good("cancellation-not-passed-on", "async Task<R> F(int id, CancellationToken ct) { return await _db.Orders.FirstOrDefaultAsync(o => o.Id == id, ct); }"),
    _good("cancellation-not-passed-on", "async Task<R> F(int id) { return await _db.Orders.FirstOrDefaultAsync(o => o.Id == id); }"),
    _bad("fire-and-forget", "void F() { _db.SaveChangesAsync(); }", 1),
    _bad("fire-and-forget", "async Task Send() { await G(); }\nvoid F() { Send(); }", 2),
    _good("fire-and-forget", "async Task Send() { await G(); }\nasync Task F() { await Send(); }"),
    _bad("fire-and-forget", "void F(List<int> ids) { ids.ForEach(async id => await Load(id)); }", 1),
    _good("fire-and-forget", "async Task Send() { await G(); }\nvoid F() { _ = Send(); }"),
    _bad("swallowed-error", "void F() { try { Store.Save(x); } catch { } }", 1),
    _bad("swallowed-error", "void F() { try { Store.Save(x); } catch (Exception) { } }", 1),
    _good("swallowed-error", "void F() { try { Store.Save(x); } catch (Exception e) { _log.LogError(e, \"save\"); } }"),
    _good("swallowed-error", "void F() { try { socket.Dispose(); } catch { } }"),
    _good("swallowed-error", "void F() { try { Store.Save(x); } catch (OperationCanceledException) { } }"),
    _good("swallowed-error", "void F() { try { Store.Save(x); } catch (Exception) { } // older systems have no store\n }"),
    _good("swallowed-error", "void F() { try { Store.DeleteFile(x); } catch (Exception) { } }"),
    _good("secret-in-code", "const string HiddenPassword = \"********\";"),
    _good("secret-in-code", "const string ElemPassword = \"ProtectPassword\";"),
    _bad("unbounded-queue", "void F() { var c = Channel.CreateUnbounded<Job>(); }", 1),
    _good("unbounded-queue", "void F() { var c = Channel.CreateBounded<Job>(100); }"),
    _bad("unbounded-fan-out", "async Task F(List<int> ids) { await Task.WhenAll(ids.Select(id => LoadAsync(id))); }", 1),
    _bad("unbounded-fan-out", "async Task F(List<int> ids) { var tasks = ids.Select(LoadAsync); await Task.WhenAll(tasks); }", 1),
    _good("unbounded-fan-out", "async Task F() { var a = LoadAsync(1); var b = LoadAsync(2); await Task.WhenAll(a, b); }"),
    _good("unbounded-fan-out", "async Task F(List<int> ids) { await Parallel.ForEachAsync(ids, new ParallelOptions { MaxDegreeOfParallelism = 8 }, Load); }"),
    _bad("tls-not-verified", "void F() { var h = new HttpClientHandler { ServerCertificateCustomValidationCallback = (m, c, ch, e) => true }; }", 1),
    _bad("tls-not-verified", "void F() { ServicePointManager.ServerCertificateValidationCallback += (s, c, ch, e) => true; }", 1),
    _bad("tls-not-verified", "void F() { handler.ServerCertificateCustomValidationCallback = HttpClientHandler.DangerousAcceptAnyServerCertificateValidator; }", 1),
    _good("tls-not-verified", "void F() { handler.ServerCertificateCustomValidationCallback = (m, c, ch, e) => c.Thumbprint == known; }"),
    _bad("wall-clock-for-durations", "void F() { var start = DateTime.UtcNow; Go(); Log(DateTime.UtcNow - start); }", 1),
    _good("wall-clock-for-durations", "void F() { var w = Stopwatch.StartNew(); Go(); Log(w.Elapsed); }"),
    _good("wall-clock-for-durations", "void F(User u) { Log(DateTime.UtcNow - u.CreatedAt); }"),
    _bad("secret-in-code", "const string ApiKey = \"q8Zt71kfLw02mXv5\";", 1),
    _good("secret-in-code", "string apiKey = Environment.GetEnvironmentVariable(\"API_KEY\");"),
    _bad("secret-in-log", "void F(string password) { _logger.LogInformation(\"login {P}\", password); }", 1),
    _bad("secret-in-log", "void F(string password) { _logger.LogInformation($\"login {password}\"); }", 1),
    _good("secret-in-log", "void F(string password) { _logger.LogInformation(\"login {L}\", password.Length); }"),
    _bad("catastrophic-expression", "static readonly Regex R = new Regex(@\"^(a+)+$\");", 1),
    _good("catastrophic-expression", "static readonly Regex R = new Regex(@\"^(a+)+$\", RegexOptions.None, TimeSpan.FromSeconds(1));"),
    _good("catastrophic-expression", "static readonly Regex R = new Regex(@\"^a+$\");"),
    _bad("file-not-closed", "void F() { var r = new StreamReader(p); r.ReadLine(); }", 1),
    _good("file-not-closed", "void F() { using var r = new StreamReader(p); r.ReadLine(); }"),
    _good("file-not-closed", "void F() { using (var r = new StreamReader(p)) { r.ReadLine(); } }"),
    _bad("connection-not-closed", "void F() { var c = new SqlConnection(s); c.Open(); }", 1),
    _good("connection-not-closed", "void F() { using var c = new SqlConnection(s); c.Open(); }"),
    _bad("unchecked-response-status", "async Task<string> F(HttpClient c) { var r = await c.GetAsync(u); return await r.Content.ReadAsStringAsync(); }", 1),
    _good("unchecked-response-status", "async Task<string> F(HttpClient c) { var r = await c.GetAsync(u).ConfigureAwait(false); r.EnsureSuccessStatusCode(); return await r.Content.ReadAsStringAsync(); }"),
    _bad("busy-loop", "void F() { while (!_done) { } }", 1),
    _good("busy-loop", "void F() { while (!_done) { Thread.Sleep(10); } }"),
    _bad("retry-without-backoff", "async Task F() { for (int i = 0; i < 3; i++) { try { await Go(); return; } catch (IOException e) { last = e; } } }", 1),
    _good("retry-without-backoff", "async Task F() { for (int i = 0; i < 3; i++) { try { await Go(); return; } catch (IOException e) { await Task.Delay(100 << i); } } }"),
    _bad("retry-without-limit", "async Task F() { while (true) { try { await Go(); return; } catch (IOException e) { await Task.Delay(d); } } }", 1),
    _good("retry-without-limit", "async Task F() { for (int i = 0; i < 3; i++) { try { await Go(); return; } catch (IOException e) { await Task.Delay(d); } } }"),
    _bad("lock-held-over-io", "void F() { lock (_sync) { Thread.Sleep(1000); } }", 1),
    _good("lock-held-over-io", "void F() { lock (_sync) { _n++; } Thread.Sleep(1000); }"),
    _bad("call-per-item", "[HttpGet(\"orders\")]\npublic async Task<R> All() { var orders = await _db.Orders.ToListAsync();\n foreach (var o in orders) { o.C = await _db.Customers.FirstAsync(c => c.Id == o.CustomerId); } }", 3),
    _good("call-per-item", "[HttpGet(\"orders\")]\npublic async Task<R> All() { var orders = await _db.Orders.Include(o => o.Customer).ToListAsync(); foreach (var o in orders) { Use(o.Customer); } }"),
    _bad("abrupt-exit", "void Load() { Environment.Exit(1); }", 1),
    _good("abrupt-exit", "static void Main() { Environment.Exit(1); }"),
]  # fmt: skip
