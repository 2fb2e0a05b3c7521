"""Health checks that always say yes, errors answered with success, local times, sequential awaits."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_SUCCESS, _LOCAL, _ONE_BY_ONE = "error-answered-as-success", "naive-time", "sequential-awaits"
_READY = "from fastapi import FastAPI\napp = FastAPI()\n@app.get('/ready')\nasync def ready(response):\n    try:\n        await db.execute('SELECT 1')\n    except Exception:\n"

CASES = [
    bad(_SUCCESS, "python", _READY + "        log.warning('down')\n    return {'status': 'ok'}", 7),
    good(_SUCCESS, "python", _READY + "        response.status_code = 503\n    return {'status': 'ok'}"),
    bad(
        _SUCCESS,
        "csharp",
        """
        class H : IHealthCheck { public async Task<R> CheckHealthAsync(C c) { try { await Ping(); return HealthCheckResult.Healthy(); } catch (Exception ex) {
         return HealthCheckResult.Healthy(ex.Message); } } }
        """,
        2,
    ),
    good(
        _SUCCESS,
        "csharp",
        "class H : IHealthCheck { public async Task<R> CheckHealthAsync(C c) { try { await Ping(); return HealthCheckResult.Healthy(); } catch (Exception ex) { return HealthCheckResult.Unhealthy(ex.Message); } } }",
    ),
    bad(
        _SUCCESS,
        "java",
        """
        class H implements HealthIndicator { public Health health() { try { ping(); return Health.up().build(); } catch (Exception e) {
         return Health.up().withDetail("error", e).build(); } } }
        """,
        2,
    ),
    good(
        _SUCCESS,
        "java",
        "class H implements HealthIndicator { public Health health() { try { ping(); return Health.up().build(); } catch (Exception e) { return Health.down(e).build(); } } }",
    ),
    bad(
        _SUCCESS,
        "go",
        """
        package a
        import "net/http"
        func (s *S) ready(w http.ResponseWriter, r *http.Request) {
        	if err := s.db.PingContext(r.Context()); err != nil {
        		s.log.Warn("down", "err", err)
        	}
        	w.WriteHeader(http.StatusOK)
        }
        """,
        4,
    ),
    bad(
        _SUCCESS,
        "csharp",
        """
        class C : ControllerBase { [HttpPost("p")] public async Task<IActionResult> Pay() { try { await _gateway.Pay(); return Ok(); } catch (Exception ex) {
         return Ok(new { error = ex.Message }); } } }
        """,
        2,
    ),
    good(
        _SUCCESS,
        "csharp",
        'class C : ControllerBase { [HttpPost("p")] public async Task<IActionResult> Pay() { try { await _gateway.Pay(); return Ok(); } catch (Exception ex) { return StatusCode(502, new { error = ex.Message }); } } }',
    ),
    bad(
        _SUCCESS,
        "kotlin",
        """
        @RestController
        class C { @PostMapping("/p") fun pay(): ResponseEntity<Any> { try { gateway.pay(); return ResponseEntity.ok().build() } catch (e: Exception) {
         return ResponseEntity.ok(mapOf("error" to e.message)) } } }
        """,
        3,
    ),
    bad(
        _LOCAL,
        "csharp",
        "class T { Token Issue() => new Token {\n ExpiresAt = DateTime.Now.AddMinutes(15) }; }",
        2,
    ),
    good(
        _LOCAL,
        "csharp",
        "class T { Token Issue() => new Token { ExpiresAt = DateTime.UtcNow.AddMinutes(15) }; }",
    ),
    good(_LOCAL, "csharp", "class T { void F() { Console.WriteLine(DateTime.Now); } }"),
    bad(
        _LOCAL,
        "kotlin",
        """
        import java.time.*
        fun issue(user: String) {
         repo.save(Token(user, expiresAt = LocalDateTime.now().plusMinutes(15)))
        }
        """,
        3,
    ),
    bad(
        _LOCAL,
        "java",
        """
        import java.time.*;
        class T { void f(Token t) {
         t.setExpiresAt(LocalDateTime.now().plusMinutes(15)); } }
        """,
        3,
    ),
    bad(
        _ONE_BY_ONE,
        "csharp",
        """
        class D { IProfileApi _p; IOrderApi _o; IOfferApi _f; async Task<X> F(string id) { var a = await _p.GetAsync(id);
         var b = await _o.RecentAsync(id);
         var c = await _f.ForAsync(id);
         return new X(a, b, c); } }
        """,
        2,
    ),
    good(
        _ONE_BY_ONE,
        "csharp",
        "class D { IProfileApi _p; IOrderApi _o; async Task<X> F(string id) { var a = await _p.GetAsync(id); var b = await _o.RecentAsync(id); return new X(a, b); } }",
    ),
    good(
        _ONE_BY_ONE,
        "csharp",
        "class D { IProfileApi _p; IOrderApi _o; IOfferApi _f; async Task<X> F(string id) { var a = await _p.GetAsync(id); var b = await _o.RecentAsync(a.Key); var c = await _f.ForAsync(b.Key); return new X(a, b, c); } }",
    ),
    bad(
        _ONE_BY_ONE,
        "kotlin",
        """
        class D(private val p: ProfileClient, private val o: OrderClient, private val f: OfferClient) { suspend fun load(id: String): X {
         val a = p.get(id)
         val b = o.recent(id)
         val c = f.forUser(id)
         return X(a, b, c) } }
        """,
        3,
    ),
]
