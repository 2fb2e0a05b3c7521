"""Contents that are needed as a whole, are in memory already, or are of the own request."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_BODY = "whole-body-loaded"
_FILE = "whole-file-loaded"

CASES: list[Case] = [
    good(
        _BODY,
        "python",
        """
        import chardet, io

        def parse(upload):
            data = upload.read()
            text = data.decode(chardet.detect(data)["encoding"])
            for line in text.splitlines():
                handle(line)
        """,
    ),
    bad(
        _BODY,
        "python",
        """
        def parse(upload):
            data = upload.read()
            text = data.decode("utf-8")
            for line in text.splitlines():
                handle(line)
        """,
        2,
    ),
    good(
        _BODY,
        "python",
        """
        def keep(buffer, path):
            buffer.seek(0)
            with open(path, "wb") as file:
                file.write(buffer.read())
        """,
    ),
    good(
        _FILE,
        "go",
        """
        package cache

        import "net/http"

        type Client struct{ next http.RoundTripper }

        func (c *Client) Do(req *http.Request) (*http.Response, error) {
        	return c.load(c.keyOf(req))
        }

        func (c *Client) keyOf(req *http.Request) string {
        	body, _ := io.ReadAll(req.Body)
        	return req.URL.String() + string(body)
        }
        """,
    ),
    bad(
        _FILE,
        "go",
        """
        package cache

        import "net/http"

        type Server struct{ next http.Handler }

        func (s *Server) keyOf(req *http.Request) string {
        	body, _ := io.ReadAll(req.Body)
        	return req.URL.String() + string(body)
        }
        """,
        8,
    ),
]
