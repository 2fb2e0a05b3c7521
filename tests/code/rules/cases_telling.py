"""Secrets in logs and errors through types, errors of clients and headers; clients made for one use."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LOG, _CONNECTION, _CLIENT, _COMPILED = (
    "secret-in-log",
    "connection-per-call",
    "http-client-per-call",
    "compiled-per-call",
)

CASES = [
    bad(
        _LOG,
        "python",
        "import logging\nfrom pydantic import BaseModel\nlog = logging.getLogger(__name__)\nclass SignUp(BaseModel):\n    email: str\n    password: str\ndef create(body: SignUp):\n    log.info('new %s', body)",
        8,
    ),
    good(
        _LOG,
        "python",
        "import logging\nfrom pydantic import BaseModel, SecretStr\nlog = logging.getLogger(__name__)\nclass SignUp(BaseModel):\n    email: str\n    password: SecretStr\ndef create(body: SignUp):\n    log.info('new %s', body)",
    ),
    bad(
        _LOG,
        "python",
        "def login(payload):\n    log.info('login %s', payload)\n    return check(payload['password'])",
        2,
    ),
    good(
        _LOG,
        "python",
        "def login(payload):\n    log.info('login %s', payload['user'])\n    return check(payload['password'])",
    ),
    bad(
        _LOG,
        "python",
        "def connect(user, password):\n    raise ValueError(f'cannot connect as {user}/{password}')",
        2,
    ),
    good(_LOG, "python", "def connect(user, password):\n    raise ValueError(f'cannot connect as {user}')"),
    bad(
        _LOG,
        "typescript",
        "class RegisterDto { email!: string;\n password!: string; }\nfunction register(dto: RegisterDto) {\n logger.info(`register ${JSON.stringify(dto)}`);\n}",
        4,
    ),
    good(
        _LOG,
        "typescript",
        "class RegisterDto { email!: string;\n password!: string; }\nfunction register(dto: RegisterDto) {\n logger.info(`register ${dto.email}`);\n}",
    ),
    bad(
        _LOG,
        "typescript",
        "import axios from 'axios';\nfunction failed(err: any) {\n logger.error('failed', { request: err.config });\n}",
        3,
    ),
    good(
        _LOG,
        "typescript",
        "function failed(err: any) {\n logger.error('failed', { request: err.config });\n}",
    ),
    bad(
        _LOG,
        "go",
        'package a\nimport "log/slog"\ntype Settings struct {\n\tAddr string\n\tJWTSecret string\n}\nfunc f() {\n\tvar s Settings\n\tslog.Info("loaded", "settings", s)\n}',
        9,
    ),
    good(
        _LOG,
        "go",
        'package a\nimport "log/slog"\ntype Settings struct {\n\tAddr string\n\tJWTSecret string\n}\nfunc (s Settings) LogValue() slog.Value { return slog.StringValue(s.Addr) }\nfunc f() {\n\tvar s Settings\n\tslog.Info("loaded", "settings", s)\n}',
    ),
    bad(
        _LOG,
        "csharp",
        'public record CreateUser(string Email, string Password);\nclass A { void F(CreateUser command) {\n _log.LogInformation("creating {Command}", command); } }',
        3,
    ),
    good(
        _LOG,
        "csharp",
        'public record CreateUser(string Email, string Password);\nclass A { void F(CreateUser command) { _log.LogInformation("creating {Email}", command.Email); } }',
    ),
    bad(
        _LOG,
        "kotlin",
        'class A(private val apiKey: String) { fun call(path: String) {\n log.info("calling $path with $apiKey") } }',
        2,
    ),
    good(
        _LOG,
        "kotlin",
        'class A(private val apiKey: String) { fun call(path: String) { log.info("calling $path") } }',
    ),
    bad(
        _LOG,
        "rust",
        'use tracing::info;\n#[derive(Debug)]\npub struct Login { user: String, password: String }\nfn f(login: &Login) {\n info!("got {:?}", login);\n}',
        5,
    ),
    bad(
        _LOG,
        "rust",
        'use log::debug;\nfn f(client_secret: &str) {\n debug!("signing with {client_secret}");\n}',
        3,
    ),
    good(
        _LOG,
        "rust",
        'use tracing::info;\n#[derive(Clone)]\npub struct Login { user: String, password: String }\nfn f(login: &Login) {\n info!("got {}", login.user);\n}',
    ),
    bad(
        _LOG,
        "java",
        'class A { void f(String key) { HttpHeaders headers = new HttpHeaders();\n headers.setBearerAuth(key);\n LOG.info("with {}", headers); } }',
        3,
    ),
    good(
        _LOG,
        "java",
        'class A { void f(String key) { HttpHeaders headers = new HttpHeaders();\n headers.setAccept(JSON);\n LOG.info("with {}", headers); } }',
    ),
    bad(
        _CONNECTION,
        "go",
        'package a\nimport "database/sql"\nfunc (r *Repo) Email(id int64) (string, error) {\n\tdb, err := sql.Open("postgres", r.dsn)\n\tif err != nil { return "", err }\n\tdefer db.Close()\n\tvar e string\n\terr = db.QueryRow("SELECT 1").Scan(&e)\n\treturn e, err\n}',
        4,
    ),
    good(
        _CONNECTION,
        "go",
        'package a\nimport "database/sql"\nfunc openRepo(dsn string) (*Repo, error) {\n\tdb, err := sql.Open("postgres", dsn)\n\tif err != nil { return nil, err }\n\treturn &Repo{db: db}, nil\n}',
    ),
    good(
        _CONNECTION,
        "go",
        'package a\nimport "database/sql"\nfunc migrate(dsn string) error {\n\tdb, err := sql.Open("postgres", dsn)\n\tif err != nil { return err }\n\tdefer db.Close()\n\t_, err = db.Exec("CREATE TABLE t (id int)")\n\treturn err\n}',
    ),
    bad(
        _CONNECTION,
        "csharp",
        "class A { async Task<string> Load(string id) {\n using var mux = await ConnectionMultiplexer.ConnectAsync(_cs);\n return await mux.GetDatabase().StringGetAsync(id); } }",
        2,
    ),
    good(_CONNECTION, "csharp", "class A { A(string cs) { _mux = ConnectionMultiplexer.Connect(cs); } }"),
    bad(
        _CONNECTION,
        "rust",
        'async fn find(id: i64) -> Result<Order, E> {\n let pool = sqlx::PgPool::connect(&url()).await?;\n Ok(sqlx::query_as("SELECT 1").bind(id).fetch_one(&pool).await?)\n}',
        2,
    ),
    good(
        _CONNECTION,
        "rust",
        "async fn connect(url: &str) -> Result<PgPool, E> { let pool = sqlx::PgPool::connect(url).await?; Ok(pool) }",
    ),
    bad(
        _CONNECTION,
        "kotlin",
        "class E(private val props: Properties) { fun emit(v: String) {\n KafkaProducer<String, String>(props).use { it.send(record(v)) } } }",
        2,
    ),
    good(
        _CONNECTION,
        "kotlin",
        "class E(props: Properties) { private val producer = KafkaProducer<String, String>(props)\n fun emit(v: String) { producer.send(record(v)) } }",
    ),
    bad(
        _CONNECTION,
        "java",
        "class A { void put(String key) {\n S3Client s3 = S3Client.create();\n s3.putObject(request(key)); } }",
        2,
    ),
    good(
        _CONNECTION,
        "java",
        "class A { private final S3Client s3 = S3Client.create(); void put(String key) { s3.putObject(request(key)); } }",
    ),
    bad(
        _CONNECTION,
        "javascript",
        "const { createClient } = require('redis');\nasync function cached(key) {\n const client = createClient();\n await client.connect();\n const value = await client.get(key);\n await client.quit();\n return value;\n}",
        3,
    ),
    bad(
        _CLIENT,
        "typescript",
        "import nodemailer from 'nodemailer';\nasync function send(to: string) {\n const transport = nodemailer.createTransport({ host: 'x' });\n await transport.sendMail({ to });\n}",
        3,
    ),
    good(
        _CLIENT,
        "typescript",
        "import nodemailer from 'nodemailer';\nfunction make(host: string) { return nodemailer.createTransport({ host }); }",
    ),
    bad(
        _COMPILED,
        "java",
        "import com.fasterxml.jackson.databind.ObjectMapper;\nclass A { byte[] encode(Event e) throws Exception {\n ObjectMapper mapper = new ObjectMapper();\n return mapper.writeValueAsBytes(e); } }",
        3,
    ),
    good(
        _COMPILED,
        "java",
        "import com.fasterxml.jackson.databind.ObjectMapper;\nclass A { private final ObjectMapper mapper; A() { mapper = new ObjectMapper(); } }",
    ),
    bad(
        _LOG,
        "kotlin",
        'class A { fun f(refreshToken: String) { val form = mapOf("refresh_token" to refreshToken)\n log.info("with {}", form) } }',
        2,
    ),
    bad(
        _LOG,
        "python",
        "import requests\ndef f(key):\n    return requests.get(f'https://x.example/v1?api_key={key}', timeout=3)",
        3,
    ),
    good(_LOG, "python", "def link(token):\n    return f'https://x.example/verify?token={token}'"),
    good(_LOG, "javascript", "const url = `https://x.example/list?page_token=${pageToken}&token=${next}`;"),
    bad(
        "connection-not-closed",
        "java",
        'import javax.sql.DataSource;\nclass A { DataSource ds; String f() throws Exception {\n var c = ds.getConnection();\n var rs = c.prepareStatement("SELECT 1").executeQuery();\n return rs.getString(1); } }',
        3,
    ),
    good(
        "connection-not-closed",
        "java",
        "import javax.sql.DataSource;\nclass A { DataSource ds; String f() throws Exception { try (var c = ds.getConnection()) { return read(c); } } }",
    ),
    bad(
        "connection-not-closed",
        "csharp",
        'class A { async Task<int> F() {\n var conn = new SqlConnection(_cs);\n var cmd = new SqlCommand("SELECT 1", conn);\n return (int)await cmd.ExecuteScalarAsync(); } }',
        2,
    ),
    good(
        "connection-not-closed",
        "csharp",
        'class A { async Task<int> F() { await using var conn = new SqlConnection(_cs); await using var cmd = new SqlCommand("SELECT 1", conn); return (int)await cmd.ExecuteScalarAsync(); } }',
    ),
    bad(
        "retry-without-limit",
        "python",
        "from urllib3.util.retry import Retry\nr = Retry(total=None, backoff_factor=0)",
        2,
    ),
    good(
        "retry-without-limit",
        "python",
        "from urllib3.util.retry import Retry\nr = Retry(total=None, connect=3, read=2)",
    ),
    bad(
        "connection-not-restored",
        "python",
        "import pika\np = pika.ConnectionParameters(host='x', heartbeat=0)",
        2,
    ),
    bad(
        "whole-file-loaded",
        "typescript",
        "import multer from 'multer';\nconst upload = multer({ dest: '/tmp/x' });",
        2,
    ),
    good(
        "whole-file-loaded",
        "typescript",
        "import multer from 'multer';\nconst upload = multer({ dest: '/tmp/x', limits: { fileSize: 1000 } });",
    ),
    bad(
        "file-not-closed",
        "kotlin",
        "import java.io.FileInputStream\nimport java.util.Properties\nfun f(path: String): Properties { val input = FileInputStream(path)\n return Properties().apply { load(input) } }",
        3,
    ),
    bad(
        _LOG,
        "python",
        "class P:\n    def __init__(self, token):\n        self.headers = {'Authorization': f'Bearer {token}'}\n    def get(self, path):\n        log.debug('GET %s %r', path, self.headers)",
        5,
    ),
    good(
        _LOG,
        "python",
        "class P:\n    def __init__(self):\n        self.headers = {'Accept': 'application/json'}\n    def get(self, path):\n        log.debug('GET %s %r', path, self.headers)",
    ),
    bad(
        _CONNECTION,
        "python",
        "from elasticsearch import Elasticsearch\nclass S:\n    def query(self, text):\n        es = Elasticsearch(self.hosts)\n        return es.search(index='p', q=text)['hits']",
        4,
    ),
    good(
        _CONNECTION,
        "python",
        "from elasticsearch import Elasticsearch\nclass S:\n    def __init__(self, hosts):\n        self.es = Elasticsearch(hosts)\n    def query(self, text):\n        return self.es.search(index='p', q=text)['hits']",
    ),
    bad(
        "response-not-closed",
        "java",
        "import okhttp3.*;\nclass P { OkHttpClient http = new OkHttpClient(); boolean alive(Request r) throws Exception {\n Response res = http.newCall(r).execute();\n return res.isSuccessful(); } }",
        3,
    ),
    good(
        "response-not-closed",
        "java",
        "import okhttp3.*;\nclass P { OkHttpClient http = new OkHttpClient(); boolean alive(Request r) throws Exception { try (Response res = http.newCall(r).execute()) { return res.isSuccessful(); } } }",
    ),
    good(
        "response-not-closed",
        "java",
        "import okhttp3.*;\nclass P { OkHttpClient http = new OkHttpClient(); String load(Request r) throws Exception { Response res = http.newCall(r).execute(); return res.body().string(); } }",
    ),
    bad(
        "whole-file-loaded",
        "rust",
        "use axum::extract::Path;\nasync fn get(Path(name): Path<String>) -> R {\n let data = tokio::fs::read(path_of(&name)).await.map_err(not_found)?;\n Ok(Response::new(Body::from(data)))\n}",
        3,
    ),
    bad(
        "secret-in-log",
        "rust",
        """
        use tracing::info;
        #[derive(Debug, Deserialize)]
        pub struct Mail {
            host: String,
            password: String,
        }
        #[derive(Debug, Deserialize)]
        pub struct Settings {
            port: u16,
            mail: Mail,
        }
        impl Settings {
            fn load(path: &Path) -> Result<Self> {
                let settings: Self = read(path)?;
                info!(?settings, "loaded");
                Ok(settings)
            }
        }
        """,
        15,
    ),
    good(
        "secret-in-log",
        "rust",
        """
        use tracing::info;
        #[derive(Debug, Deserialize)]
        pub struct Settings {
            port: u16,
            host: String,
        }
        fn load(path: &Path) -> Result<Settings> {
            let settings: Settings = read(path)?;
            info!(?settings, %path, "loaded");
            Ok(settings)
        }
        """,
    ),
]
