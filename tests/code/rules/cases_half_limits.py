"""Time limits that leave the answer without one, and options that the library ignores."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_HTTP, _SOCKET, _GRPC, _DATABASE = (
    "http-call-without-timeout",
    "socket-without-timeout",
    "grpc-call-without-deadline",
    "database-without-timeout",
)
_BODY, _TASK = "limit-ends-before-body", "task-waited-for-by-thread"

CASES = [
    # Python: limits of single steps.
    bad(
        _HTTP,
        "python",
        "import httpx\nc = httpx.Client(timeout=httpx.Timeout(connect=3, read=None, write=5, pool=2))",
        2,
    ),
    bad(_HTTP, "python", "import httpx\nc = httpx.AsyncClient(timeout=httpx.Timeout(None, connect=3))", 2),
    good(_HTTP, "python", "import httpx\nc = httpx.AsyncClient(timeout=httpx.Timeout(10, connect=3))"),
    good(
        _HTTP,
        "python",
        "import httpx\nevents = httpx.AsyncClient(timeout=httpx.Timeout(10, read=None))  # a stream of events",
    ),
    bad(_HTTP, "python", "import aiohttp\nlimit = aiohttp.ClientTimeout(connect=5, sock_connect=5)", 2),
    good(_HTTP, "python", "import aiohttp\nlimit = aiohttp.ClientTimeout(total=30, connect=5)"),
    good(_HTTP, "python", "import aiohttp\nlimit = aiohttp.ClientTimeout(sock_connect=5, sock_read=20)"),
    bad(
        _HTTP, "python", "import urllib3\npool = urllib3.PoolManager(timeout=urllib3.Timeout(connect=2.0))", 2
    ),
    good(
        _HTTP,
        "python",
        "import urllib3\npool = urllib3.PoolManager(timeout=urllib3.Timeout(connect=2.0, read=7.0))",
    ),
    bad(_HTTP, "python", "import requests\ndef f(u):\n    return requests.get(u, timeout=(3.05, None))", 3),
    good(_HTTP, "python", "import requests\ndef f(u):\n    return requests.get(u, timeout=(3.05, 10))"),
    # Python: an attribute that requests does not read.
    bad(
        _HTTP,
        "python",
        "import requests\nclass A:\n    def __init__(self):\n        self._session = requests.Session()\n        self._session.timeout = 10\n    def f(self, u, **kw):\n        return self._session.request('GET', u, **kw)",
        5,
    ),
    good(
        _HTTP,
        "python",
        "import requests\nclass A:\n    def __init__(self):\n        self.s = requests.Session()\n        self.s.timeout = 10\n    def f(self, u):\n        return self.s.get(u, timeout=self.s.timeout)",
    ),
    # Python: the limit of zeep for loading the description.
    bad(
        _HTTP,
        "python",
        "from zeep import Client\nfrom zeep.transports import Transport\nc = Client('a.wsdl', transport=Transport(timeout=10))",
        3,
    ),
    bad(_HTTP, "python", "import zeep\nc = zeep.Client('https://payer/a?wsdl')", 2),
    good(
        _HTTP,
        "python",
        "from zeep import Client\nfrom zeep.transports import Transport\nc = Client('a.wsdl', transport=Transport(timeout=10, operation_timeout=20))",
    ),
    # JavaScript: options that end nothing.
    bad(_HTTP, "javascript", "async function f(u) { return fetch(u, { timeout: 5000 }); }", 1),
    good(
        _HTTP,
        "javascript",
        "import fetch from 'node-fetch';\nasync function f(u) { return fetch(u, { timeout: 5000 }); }",
    ),
    bad(
        _HTTP,
        "javascript",
        "async function f(u) {\n  const c = new AbortController();\n  return fetch(u, { signal: c.signal });\n}",
        3,
    ),
    good(
        _HTTP,
        "javascript",
        "async function f(u) {\n  const c = new AbortController();\n  setTimeout(() => c.abort(), 3000);\n  return fetch(u, { signal: c.signal });\n}",
    ),
    bad(
        _HTTP,
        "javascript",
        "const got = require('got');\nconst f = (u) => got(u, { timeout: { connect: 500 } }).json();",
        2,
    ),
    good(
        _HTTP,
        "javascript",
        "const got = require('got');\nconst f = (u) => got(u, { timeout: { connect: 500, request: 4000 } }).json();",
    ),
    bad(
        _HTTP,
        "javascript",
        "const https = require('https');\nfunction f(done) {\n  const req = https.request({ host: 'x', timeout: 4000 }, (res) => done(res));\n  req.on('error', done);\n  req.end();\n}",
        3,
    ),
    good(
        _HTTP,
        "javascript",
        "const https = require('https');\nfunction f(done) {\n  const req = https.request({ host: 'x', timeout: 4000 }, done);\n  req.on('timeout', () => req.destroy());\n  req.end();\n}",
    ),
    bad(
        _HTTP,
        "typescript",
        "import axios from 'axios';\nconst api = axios.create({ baseURL: 'https://x', timeout: 0 });\nexport async function f(id: string) { return (await api.get(`/${id}`)).data; }",
        2,
    ),
    good(
        _HTTP,
        "javascript",
        "const axios = require('axios');\naxios.defaults.timeout = 4000;\nasync function f(u) { return (await axios.get(u)).data; }",
    ),
    # Java: a limit of connecting alone.
    bad(
        _HTTP,
        "java",
        "import java.net.HttpURLConnection;\nimport java.net.URL;\nclass A {\n  int f(String u) throws Exception {\n    HttpURLConnection c = (HttpURLConnection) new URL(u).openConnection();\n    c.setConnectTimeout(3000);\n    return c.getResponseCode();\n  }\n}",
        5,
    ),
    good(
        _HTTP,
        "java",
        "import java.net.HttpURLConnection;\nimport java.net.URL;\nclass A {\n  int f(String u) throws Exception {\n    HttpURLConnection c = (HttpURLConnection) new URL(u).openConnection();\n    c.setConnectTimeout(3000);\n    c.setReadTimeout(9000);\n    return c.getResponseCode();\n  }\n}",
    ),
    bad(
        _HTTP,
        "java",
        """
        import org.apache.hc.client5.http.config.RequestConfig;
        import org.apache.hc.client5.http.impl.classic.HttpClients;
        class A {
          Object make() {
            RequestConfig limits = RequestConfig.custom().setConnectionRequestTimeout(Timeout.ofSeconds(2)).build();
            return HttpClients.custom().setDefaultRequestConfig(limits).build();
          }
        }
    """,
        5,
    ),
    good(
        _HTTP,
        "java",
        """
        import org.apache.hc.client5.http.config.RequestConfig;
        import org.apache.hc.client5.http.impl.classic.HttpClients;
        class A {
          Object make() {
            RequestConfig limits = RequestConfig.custom().setConnectionRequestTimeout(Timeout.ofSeconds(2)).setResponseTimeout(Timeout.ofSeconds(9)).build();
            return HttpClients.custom().setDefaultRequestConfig(limits).build();
          }
        }
    """,
    ),
    bad(
        _HTTP,
        "java",
        """
        import org.springframework.http.client.SimpleClientHttpRequestFactory;
        import org.springframework.web.client.RestClient;
        class A {
          RestClient make() {
            var factory = new SimpleClientHttpRequestFactory();
            factory.setConnectTimeout(2000);
            return RestClient.builder().requestFactory(factory).build();
          }
        }
    """,
        5,
    ),
    bad(
        _HTTP,
        "java",
        """
        import reactor.netty.http.client.HttpClient;
        class A {
          WebClient make() {
            HttpClient http = HttpClient.create().option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 2000);
            return WebClient.builder().clientConnector(new ReactorClientHttpConnector(http)).build();
          }
        }
    """,
        4,
    ),
    good(
        _HTTP,
        "java",
        """
        import reactor.netty.http.client.HttpClient;
        class A {
          WebClient make() {
            HttpClient http = HttpClient.create().option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 2000).responseTimeout(Duration.ofSeconds(5));
            return WebClient.builder().clientConnector(new ReactorClientHttpConnector(http)).build();
          }
        }
    """,
    ),
    # Kotlin: `withTimeout` does not end a call that blocks.
    bad(
        _HTTP,
        "kotlin",
        """
        import java.net.http.HttpClient
        import java.net.http.HttpRequest
        class A(private val http: HttpClient) {
            suspend fun f(u: String): String = withContext(Dispatchers.IO) {
                withTimeout(2000) {
                    val request = HttpRequest.newBuilder(URI.create(u)).build()
                    http.send(request, BodyHandlers.ofString()).body()
                }
            }
        }
    """,
        6,
    ),
    good(
        _HTTP,
        "kotlin",
        """
        import java.net.http.HttpClient
        import java.net.http.HttpRequest
        class A(private val http: HttpClient) {
            suspend fun f(u: String): String = withTimeout(2000) {
                runInterruptible(Dispatchers.IO) {
                    val request = HttpRequest.newBuilder(URI.create(u)).build()
                    http.send(request, BodyHandlers.ofString()).body()
                }
            }
        }
    """,
    ),
    # Go: contexts that have lost their deadline.
    bad(
        _GRPC,
        "go",
        """
        package a
        import ("context"; pb "example.com/x/gen/pb")
        type S struct { c pb.PushServiceClient }
        func (s *S) Notify(ctx context.Context, id string) {
            detached := context.WithoutCancel(ctx)
            go func() { s.send(detached, id) }()
        }
        func (s *S) send(ctx context.Context, id string) {
            _, _ = s.c.Send(ctx, &pb.Request{Id: id})
        }
    """,
        9,
    ),
    good(
        _GRPC,
        "go",
        """
        package a
        import ("context"; "time"; pb "example.com/x/gen/pb")
        type S struct { c pb.PushServiceClient }
        func (s *S) Notify(ctx context.Context, id string) {
            detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
            go func() { defer cancel(); s.send(detached, id) }()
        }
        func (s *S) send(ctx context.Context, id string) {
            _, _ = s.c.Send(ctx, &pb.Request{Id: id})
        }
    """,
    ),
    # Connections whose opening alone is limited.
    bad(
        _SOCKET,
        "go",
        'package a\nfunc ask(addr string) (string, error) {\n\tconn, err := net.DialTimeout("tcp", addr, time.Second)\n\tif err != nil {\n\t\treturn "", err\n\t}\n\tdefer conn.Close()\n\treturn bufio.NewReader(conn).ReadString(10)\n}',
        8,
    ),
    good(
        _SOCKET,
        "go",
        'package a\nfunc ask(addr string) (string, error) {\n\tconn, err := net.DialTimeout("tcp", addr, time.Second)\n\tif err != nil {\n\t\treturn "", err\n\t}\n\tdefer conn.Close()\n\t_ = conn.SetDeadline(time.Now().Add(time.Second))\n\treturn bufio.NewReader(conn).ReadString(10)\n}',
    ),
    bad(
        _SOCKET,
        "python",
        "import asyncio\nasync def ask(host):\n    reader, writer = await asyncio.wait_for(asyncio.open_connection(host, 70), 3)\n    writer.write(b'x')\n    return await reader.readline()",
        5,
    ),
    good(
        _SOCKET,
        "python",
        "import asyncio\nasync def ask(host):\n    reader, writer = await asyncio.wait_for(asyncio.open_connection(host, 70), 3)\n    writer.write(b'x')\n    return await asyncio.wait_for(reader.readline(), 3)",
    ),
    bad(
        _SOCKET,
        "python",
        "import paramiko\ndef run(host, cmd):\n    ssh = paramiko.SSHClient()\n    ssh.connect(host, timeout=5)\n    _, out, _ = ssh.exec_command(cmd)\n    return out.read()",
        5,
    ),
    good(
        _SOCKET,
        "python",
        "import paramiko\ndef run(host, cmd):\n    ssh = paramiko.SSHClient()\n    ssh.connect(host, timeout=5)\n    _, out, _ = ssh.exec_command(cmd, timeout=60)\n    return out.read()",
    ),
    bad(
        _SOCKET,
        "java",
        'class A {\n  DirContext open() throws NamingException {\n    env.put("com.sun.jndi.ldap.connect.timeout", "3000");\n    return new InitialDirContext(env);\n  }\n}',
        4,
    ),
    good(
        _SOCKET,
        "java",
        'class A {\n  DirContext open() throws NamingException {\n    env.put("com.sun.jndi.ldap.connect.timeout", "3000");\n    env.put("com.sun.jndi.ldap.read.timeout", "9000");\n    return new InitialDirContext(env);\n  }\n}',
    ),
    bad(
        _SOCKET,
        "java",
        "import com.jcraft.jsch.JSch;\nimport com.jcraft.jsch.Session;\nclass A {\n  void open(JSch jsch) throws Exception {\n    Session session = jsch.getSession(user, host, 22);\n    session.connect();\n  }\n}",
        6,
    ),
    good(
        _SOCKET,
        "java",
        "import com.jcraft.jsch.JSch;\nimport com.jcraft.jsch.Session;\nclass A {\n  void open(JSch jsch) throws Exception {\n    Session session = jsch.getSession(user, host, 22);\n    session.connect(5000);\n  }\n}",
    ),
    bad(_DATABASE, "python", "import redis\ncache = redis.Redis(host='cache', socket_connect_timeout=2)", 2),
    good(
        _DATABASE,
        "python",
        "import redis\ncache = redis.Redis(host='cache', socket_connect_timeout=2, socket_timeout=2)",
    ),
    # The body of an answer.
    bad(
        _BODY,
        "javascript",
        """
        async function quote(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 8000);
          let res;
          try {
            res = await fetch(url, { signal: controller.signal });
          } finally {
            clearTimeout(timer);
          }
          return JSON.parse(await readBounded(res.body));
        }
    """,
        8,
    ),
    good(
        _BODY,
        "javascript",
        """
        async function quote(url) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(), 8000);
          try {
            const res = await fetch(url, { signal: controller.signal });
            return JSON.parse(await readBounded(res.body));
          } finally {
            clearTimeout(timer);
          }
        }
    """,
    ),
    bad(
        _BODY,
        "csharp",
        "class A {\n  async Task<string> F(HttpClient http, string u, CancellationToken ct) {\n    using var res = await http.GetAsync(u, HttpCompletionOption.ResponseHeadersRead, ct);\n    return await res.Content.ReadAsStringAsync();\n  }\n}",
        4,
    ),
    good(
        _BODY,
        "csharp",
        "class A {\n  async Task<string> F(HttpClient http, string u, CancellationToken ct) {\n    using var res = await http.GetAsync(u, HttpCompletionOption.ResponseHeadersRead, ct);\n    return await res.Content.ReadAsStringAsync(ct);\n  }\n}",
    ),
    # C#: threads that wait for tasks.
    bad(
        _TASK,
        "csharp",
        "class A : DelegatingHandler {\n  protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage r, CancellationToken ct) {\n    var token = tokens.CurrentAsync(ct).GetAwaiter().GetResult();\n    return base.SendAsync(r, ct);\n  }\n}",
        3,
    ),
    bad(
        _TASK,
        "csharp",
        "class A {\n  string Name(string id) {\n    var task = http.GetStringAsync(id);\n    return task.Result;\n  }\n}",
        4,
    ),
    good(
        _TASK,
        "csharp",
        "class A {\n  async Task<int> Both() {\n    var a = http.GetStringAsync(x);\n    await a;\n    return a.Result.Length;\n  }\n}",
    ),
    good(
        _TASK, "csharp", "class A {\n  string LoadSync() { return LoadAsync().GetAwaiter().GetResult(); }\n}"
    ),
]
