"""Findings are shown where the mistake is mended, also if the value goes through functions of the file."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY, Finding

BY_SLUG = {rule.slug: rule for rule in RULES}
_PAGE = "unbounded-page-size"
_HTTP = "http-call-without-timeout"
_BODY = "response-not-closed"

_PAGES = """
using Microsoft.AspNetCore.Mvc;
using Microsoft.EntityFrameworkCore;

[ApiController]
[Route("tickets")]
public class TicketsController : ControllerBase
{
    private readonly TicketDb _db;

    [HttpGet]
    public async Task<IActionResult> List([FromQuery] int? pageSize, CancellationToken ct)
    {
        SIZE
        return Ok(await _db.Tickets.OrderBy(t => t.Id).Take(size).ToListAsync(ct));
    }
}
"""
_ROWS = """
public sealed record TicketQuery(string Queue, int? Limit);

public sealed class TicketSearch
{
    public async Task<IReadOnlyList<Ticket>> FindAsync(TicketQuery query, CancellationToken ct)
    {
        var limit = LIMIT;
        return await _db.Tickets.Where(t => t.Queue == query.Queue).Take(limit).ToListAsync(ct);
    }
}

public static class TicketRoutes
{
    public static void MapTickets(this IEndpointRouteBuilder routes)
    {
        routes.MapGet("/tickets", async (string queue, int? limit, TicketSearch search, CancellationToken ct)
            =>
            Results.Ok(await search.FindAsync(new TicketQuery(queue, limit), ct)));
    }
}
"""
_TOLLS = """
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

class TollClient {
    private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();

    String toll(String plate) throws Exception {
        return exchange(request("/tolls/" + plate)).body();
    }

    private HttpRequest request(String path) {
        return HttpRequest.newBuilder(URI.create(path))LIMIT.GET().build();
    }

    private HttpResponse<String> exchange(HttpRequest request) throws Exception {
        return http.send(request, HttpResponse.BodyHandlers.ofString());
    }
}
"""
_TOLLS_KOTLIN = """
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import java.time.Duration

class TollClient {
    private val http: HttpClient = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build()

    fun toll(plate: String): String {
        val asked = HttpRequest.newBuilder(URI.create("/tolls/$plate"))LIMIT.GET().build()
        return exchange(asked).body()
    }

    private fun exchange(request: HttpRequest): HttpResponse<String> =
        http.send(request, HttpResponse.BodyHandlers.ofString())
}
"""
_TIDES = """
use reqwest::Client;

pub struct TideClient {
    http: Client,
}

impl TideClient {
    pub fn new() -> Result<Self, reqwest::Error> {
        Ok(Self { http: CLIENT })
    }

    pub async fn today(&self, port: &str) -> Result<Tide, reqwest::Error> {
        self.http.get(port).send().await?.json().await
    }

    pub async fn week(&self, port: &str) -> Result<Vec<Tide>, reqwest::Error> {
        self.http.get(port).query(&[("days", "7")]).send().await?.json().await
    }
}
"""
_MAPS = """
import httpx

class MapStore:
    def __init__(self, base):
        self._http = httpx.Client(base_url=base, timeout=10.0)

    def fetch(self, tile, target):
        with open(target, "wb") as out, self._http.stream("GET", tile, timeout=LIMIT) as answer:
            for part in answer.iter_bytes():
                out.write(part)
"""
_GAUGES = """
package gauges

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

var client = &http.Client{Timeout: 5 * time.Second}

func Level(url string) (*Gauge, error) {
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {REFUSED
		return nil, errors.New("no level")
	}
	return read(resp.Body)
}

func read(body io.ReadCloser) (*Gauge, error) {
	defer body.Close()
	var gauge Gauge
	return &gauge, json.NewDecoder(body).Decode(&gauge)
}
"""

SHOWN = [
    (
        _PAGE,
        "csharp",
        "int? pageSize",
        _PAGES.replace("SIZE", "var size = pageSize is > 0 ? pageSize.Value : 50;"),
    ),
    (
        _PAGE,
        "csharp",
        "var size =",
        _PAGES.replace(
            "SIZE", "if (pageSize is <= 0) return BadRequest();\n        var size = pageSize ?? 50;"
        ),
    ),
    (_PAGE, "csharp", "var limit =", _ROWS.replace("LIMIT", "query.Limit is > 0 ? query.Limit.Value : 50")),
    (_PAGE, "csharp", "var limit =", _ROWS.replace("LIMIT", "query.Limit ?? 50")),
    (_HTTP, "java", "http.send", _TOLLS.replace("LIMIT", "")),
    (_HTTP, "kotlin", "http.send", _TOLLS_KOTLIN.replace("LIMIT", "")),
    (_HTTP, "rust", "Client::new()", _TIDES.replace("CLIENT", "Client::new()")),
    (_HTTP, "python", "timeout=None", _MAPS.replace("LIMIT", "None")),
    (_BODY, "go", "resp.StatusCode", _GAUGES.replace("REFUSED", "")),
]

NOT_SHOWN = [
    (
        _PAGE,
        "csharp",
        _PAGES.replace("SIZE", "var size = pageSize is > 0 and <= 200 ? pageSize.Value : 50;"),
    ),
    (
        _PAGE,
        "csharp",
        _PAGES.replace(
            "SIZE",
            "if (pageSize is < 1 or > Largest) return BadRequest();\n        var size = pageSize ?? 50;",
        ),
    ),
    (_PAGE, "csharp", _ROWS.replace("LIMIT", "query.Limit is > 0 ? Math.Min(query.Limit.Value, 200) : 50")),
    (_HTTP, "java", _TOLLS.replace("LIMIT", ".timeout(Duration.ofSeconds(5))")),
    (
        # What another function of the file begins may have a limit.
        _HTTP,
        "java",
        _TOLLS.replace("HttpRequest.newBuilder(URI.create(path))LIMIT", "signer.begin(path)"),
    ),
    (_HTTP, "kotlin", _TOLLS_KOTLIN.replace("LIMIT", ".timeout(Duration.ofSeconds(5))")),
    (_HTTP, "rust", _TIDES.replace("CLIENT", "Client::builder().timeout(Duration::from_secs(5)).build()?")),
    (_HTTP, "python", _MAPS.replace("LIMIT", "60.0")),
    (
        # The next event of a stream may take any time.
        _HTTP,
        "python",
        _MAPS.replace("LIMIT", "None").replace("out.write(part)", "yield part"),
    ),
    (_BODY, "go", _GAUGES.replace("REFUSED", "\n\t\tresp.Body.Close()")),
]


def _shown(slug: str, language: str, text: str) -> list[Finding]:
    found = findings_of(dedent(text), language, rules=(BY_SLUG[slug],))
    return [each for each in found if each.confidence >= LIKELY]


@pytest.mark.parametrize(("slug", "language", "part", "text"), SHOWN)
def test_the_finding_is_at_the_part_that_is_to_be_changed(
    slug: str, language: str, part: str, text: str
) -> None:
    found = _shown(slug, language, text)
    assert len(found) == 1
    lines = dedent(text).splitlines()[found[0].line - 1 : found[0].end_line]
    assert part in "\n".join(lines)


@pytest.mark.parametrize(("slug", "language", "text"), NOT_SHOWN)
def test_the_mended_neighbour_is_not_shown(slug: str, language: str, text: str) -> None:
    assert _shown(slug, language, text) == []
