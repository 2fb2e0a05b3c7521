"""Clients without a limit of time, or with one that is switched off, in less common libraries."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_HTTP, _SOCKET, _DATABASE = "http-call-without-timeout", "socket-without-timeout", "database-without-timeout"

CASES = [
    bad(
        _HTTP,
        "go",
        """
        package a
        import "github.com/go-resty/resty/v2"
        func f() *resty.Client { return resty.New().SetBaseURL("x") }
        """,
        3,
    ),
    good(
        _HTTP,
        "go",
        """
        package a
        import (
        	"time"
        	"github.com/go-resty/resty/v2"
        )
        func f() *resty.Client { return resty.New().SetTimeout(5 * time.Second) }
        """,
    ),
    bad(
        _HTTP,
        "rust",
        "fn f(u: &str) -> R { let agent = ureq::AgentBuilder::new().build(); agent.get(u).call() }",
        1,
    ),
    good(
        _HTTP,
        "rust",
        "fn f(u: &str) -> R { let agent = ureq::AgentBuilder::new().timeout(Duration::from_secs(3)).build(); agent.get(u).call() }",
    ),
    bad(
        _HTTP,
        "rust",
        "fn f() -> R { let plain = ureq::Agent::config_builder().http_status_as_error(false).build();\n keep(ureq::agent()) }",
        2,
    ),
    bad(
        _HTTP,
        "rust",
        "use reqwest::blocking::Client;\nfn f() -> R { Client::builder().timeout(None).build() }",
        2,
    ),
    bad(_HTTP, "python", "from openai import OpenAI\nclient = OpenAI(timeout=None)", 2),
    good(_HTTP, "python", "from openai import OpenAI\nclient = OpenAI(timeout=30)"),
    bad(_HTTP, "csharp", "class A { void F(SqlCommand cmd) {\n cmd.CommandTimeout = 0; } }", 2),
    good(_HTTP, "csharp", "class A { void F(SqlCommand cmd) { cmd.CommandTimeout = 15; } }"),
    bad(
        _HTTP,
        "java",
        """
        import feign.Request;
        class A { Request.Options f() {
         return new Request.Options(0, TimeUnit.SECONDS, 0, TimeUnit.SECONDS, true); } }
        """,
        3,
    ),
    good(
        _HTTP,
        "java",
        """
        import feign.Request;
        class A { Request.Options f() { return new Request.Options(2, TimeUnit.SECONDS, 5, TimeUnit.SECONDS, true); } }
        """,
    ),
    bad(
        _HTTP,
        "java",
        'class A { A(Properties p) { p.put("mail.smtp.host", "x");\n s = Session.getInstance(p); } }',
        2,
    ),
    bad(
        _HTTP,
        "java",
        'import jakarta.mail.Session;\nclass A { A(Properties p) { p.put("mail.smtp.host", "x");\n s = Session.getDefaultInstance(p); } }',
        3,
    ),
    good(
        _HTTP,
        "java",
        'class A { A(Properties p) { p.put("mail.smtp.host", "x"); p.put("mail.smtp.timeout", "5000"); s = Session.getInstance(p); } }',
    ),
    bad(
        _HTTP,
        "kotlin",
        "import okhttp3.OkHttpClient\nval c = OkHttpClient.Builder().readTimeout(Duration.ZERO).build()",
        2,
    ),
    bad(
        _SOCKET,
        "go",
        """
        package a
        import "net/smtp"
        func f(m []byte) error { return smtp.SendMail("x:25", nil, "a", nil, m) }
        """,
        3,
    ),
    bad(
        _SOCKET,
        "python",
        "import ldap\ndef f(uri, dn, secret):\n    c = ldap.initialize(uri)\n    c.simple_bind_s(dn, secret)",
        3,
    ),
    good(
        _SOCKET,
        "python",
        """
        import ldap
        def f(uri, dn, secret):
            c = ldap.initialize(uri)
            c.set_option(ldap.OPT_NETWORK_TIMEOUT, 5)
            c.simple_bind_s(dn, secret)
        """,
    ),
    bad(
        _SOCKET,
        "python",
        "import paramiko\ndef f(host):\n    c = paramiko.SSHClient()\n    c.connect(host)",
        4,
    ),
    good(_DATABASE, "python", "import os, psycopg\nconn = psycopg.connect(os.environ['DATABASE_URL'])"),
    good(_DATABASE, "typescript", "import Redis from 'ioredis';\nconst r = new Redis({ host: 'x' });"),
    bad(
        _HTTP,
        "java",
        """
        import java.net.*;
        class A { int f(String u) throws Exception {
         HttpURLConnection c = (HttpURLConnection) URI.create(u).toURL().openConnection();
         return c.getResponseCode(); } }
        """,
        3,
    ),
    bad(
        _HTTP,
        "java",
        """
        import java.net.*;
        class A { byte[] f(String b) throws Exception {
         try (var in = new URL(b + "/x").openStream()) { return in.readNBytes(9); } } }
        """,
        3,
    ),
    good(
        _HTTP,
        "java",
        """
        import java.net.*;
        class A { byte[] f(URL resource) throws Exception { try (var in = resource.openStream()) { return in.readNBytes(9); } } }
        """,
    ),
    bad(
        "wall-clock-for-durations",
        "kotlin",
        """
        class D(private val gap: Long) { private var last = 0L
         fun allow(): Boolean { val now = System.currentTimeMillis()
         if (now - last < gap) return false
         last = now
         return true } }
        """,
        3,
    ),
    bad(
        "retry-without-limit",
        "typescript",
        "import got from 'got';\nexport const api = got.extend({ retry: { limit: Infinity } });",
        2,
    ),
    good(
        "retry-without-limit",
        "typescript",
        "import got from 'got';\nexport const api = got.extend({ retry: { limit: 3 } });",
    ),
    bad(
        "response-not-closed",
        "go",
        """
        package a
        import (
        	"fmt"
        	"net/http"
        )
        func f(c *http.Client, u string) (*http.Response, error) {
        	resp, err := c.Get(u)
        	if err != nil { return nil, err }
        	if resp.StatusCode >= 400 {
        		return nil, fmt.Errorf("x: %s", resp.Status)
        	}
        	return resp, nil
        }
        """,
        9,
    ),
    good(
        "response-not-closed",
        "go",
        """
        package a
        import (
        	"fmt"
        	"net/http"
        )
        func f(c *http.Client, u string) (*http.Response, error) {
        	resp, err := c.Get(u)
        	if err != nil { return nil, err }
        	if resp.StatusCode >= 400 {
        		resp.Body.Close()
        		return nil, fmt.Errorf("x: %s", resp.Status)
        	}
        	return resp, nil
        }
        """,
    ),
    bad(
        "whole-file-loaded",
        "javascript",
        """
        const express = require('express');
        const app = express();
        app.use(express.json({ limit: '500mb' }));
        """,
        3,
    ),
    good(
        "whole-file-loaded",
        "javascript",
        """
        const express = require('express');
        const app = express();
        app.use(express.json({ limit: '10mb' }));
        """,
    ),
    bad(
        "whole-file-loaded",
        "python",
        """
        import zipfile
        from fastapi import FastAPI
        app = FastAPI()
        @app.post('/b')
        def up(file):
            with zipfile.ZipFile(file.file) as z:
                z.extractall('/srv')
        """,
        7,
    ),
    bad(
        "list-membership-in-loop",
        "go",
        """
        package a
        import "slices"
        func f(events []Event) []string {
        	var seen []string
        	for _, e := range events {
        		if !slices.Contains(seen, e.ID) {
        			seen = append(seen, e.ID)
        		}
        	}
        	return seen
        }
        """,
        6,
    ),
    bad(
        "http-client-per-call",
        "csharp",
        "class A { string F(string u) {\n using var c = new WebClient();\n return c.DownloadString(u); } }",
        2,
    ),
    bad(
        "connection-per-call",
        "javascript",
        """
        const { Kafka } = require('kafkajs');
        async function publish(event) {
         const kafka = new Kafka({ brokers: ['x'] });
         const producer = kafka.producer();
         await producer.send(event);
         await producer.disconnect();
        }
        """,
        3,
    ),
]
