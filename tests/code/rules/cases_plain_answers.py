"""Failures that are answered by functions without a status, or where an object says that some work failed."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_RULE, _REJECTED = "error-answered-as-success", "rejection-in-handler"
_PROBLEM = """
    from flask import Flask, jsonify
    app = Flask(__name__)
    def problem(status: int, title: str):
        {}
    @app.errorhandler(OperationalError)
    def down(exc):
        log.exception("down")
        return problem(503, "try again later")
    """
_OUTCOME = """
    const express = require('express');
    const router = express.Router();
    const outcome = (promise) => promise.then((value) => ({{ ok: true, value }}), (error) => ({{ ok: false, error }}));
    router.post('/events', async (req, res) => {{
      const result = await outcome(recordScan(req.body.parcel));
      if (!result.ok) {{
        log.error({{ err: result.error }}, 'not recorded');
        res{}.json({{ received: true, error: 'scan not recorded' }});
        return;
      }}
      res.json({{ received: true }});
    }});
    """
_ANSWER = """
    import {{ NextResponse }} from 'next/server';
    function answer(outcome: Outcome): NextResponse {{
      return NextResponse.json(outcome, {{ {}headers: {{ 'Cache-Control': 'no-store' }} }});
    }}
    export async function POST(request: Request) {{
      try {{
        return answer({{ id: await create(await request.json()) }});
      }} catch (err) {{
        logger.error({{ err }}, 'failed');
        return answer({{ error: 'We could not take it.' }});
      }}
    }}
    """
_WARP = """
    async fn open(door: u16, bank: Arc<Bank>) -> Result<impl Reply, Infallible> {{
        let (status, body) = match bank.unlock(door).await {{
            Ok(secs) => (StatusCode::OK, json!({{ "door": door, "secs": secs }})),
            Err(err) => ({}, json!({{ "door": door, "error": err.code() }})),
        }};
        Ok(reply::with_status(reply::json(&body), status))
    }}
    """
_GO_PROBLEM = """
    package a
    import (
    	"encoding/json"
    	"net/http"
    )
    func problem(w http.ResponseWriter, status int, title string) {{
    	{}json.NewEncoder(w).Encode(map[string]any{{"status": status, "title": title}})
    }}
    func get(w http.ResponseWriter, r *http.Request) {{
    	if err := work(r.Context()); err != nil {{
    		problem(w, 503, "down")
    	}}
    }}
    """
_CSHARP = """
    [ApiController]
    public class Gates : ControllerBase {{
        [HttpPost("/gates")]
        public async Task<IActionResult> Open(Gate gate) {{
            var result = await _gates.OpenAsync(gate);
            if (!result.IsSuccess) {{
                return {}(new {{ error = "gate did not open" }});
            }}
            return Ok(result.Value);
        }}
    }}
    """

CASES: list[Case] = [
    bad(_RULE, "python", _PROBLEM.format('return jsonify({"status": status, "title": title})'), 4),
    good(_RULE, "python", _PROBLEM.format('return jsonify({"status": status, "title": title}), status')),
    good(
        _RULE,
        "python",
        _PROBLEM.format('r = jsonify({"status": status, "title": title}); r.status_code = status; return r'),
    ),
    bad(_RULE, "javascript", _OUTCOME.format(""), 8),
    good(_RULE, "javascript", _OUTCOME.format(".status(503)")),
    good(_REJECTED, "javascript", _OUTCOME.format(".status(503)")),
    bad(
        _REJECTED,
        "javascript",
        _OUTCOME.format("").replace("=> promise.then(", "=> promise.finally(").strip(),
        5,
    ),
    bad(_RULE, "typescript", _ANSWER.format(""), 10),
    good(_RULE, "typescript", _ANSWER.format("status: statusOf(outcome), ")),
    bad(_RULE, "rust", _WARP.format("StatusCode::OK"), 4),
    good(_RULE, "rust", _WARP.format("StatusCode::BAD_GATEWAY")),
    bad(_RULE, "go", _GO_PROBLEM.format(""), 7),
    good(_RULE, "go", _GO_PROBLEM.format("w.WriteHeader(status)\n    	")),
    bad(_RULE, "csharp", _CSHARP.format("Ok"), 7),
    good(_RULE, "csharp", _CSHARP.format("Conflict")),
]
