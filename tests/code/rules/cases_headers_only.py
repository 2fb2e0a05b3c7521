"""Answers of which only the headers are read."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "response-not-closed"

CASES = [
    bad(
        _RULE,
        "csharp",
        """
        using System.Net.Http;
        public class Mirror(HttpClient http)
        {
            public async Task<bool> CopyAsync(Uri url, Stream target, CancellationToken ct)
            {
                var response = await http.GetAsync(url, HttpCompletionOption.ResponseHeadersRead, ct);
                if (!response.IsSuccessStatusCode)
                {
                    return false;
                }
                await response.Content.CopyToAsync(target, ct);
                return true;
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "csharp",
        """
        using System.Net.Http;
        public class Mirror(HttpClient http)
        {
            public async Task<bool> CopyAsync(Uri url, Stream target, CancellationToken ct)
            {
                using var response = await http.GetAsync(url, HttpCompletionOption.ResponseHeadersRead, ct);
                if (!response.IsSuccessStatusCode)
                {
                    return false;
                }
                await response.Content.CopyToAsync(target, ct);
                return true;
            }
        }
        """,
    ),
]
