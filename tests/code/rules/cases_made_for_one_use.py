"""Clients, connections and expressions that are made for one use."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CONNECTION, _CLIENT, _COMPILED = "connection-per-call", "http-client-per-call", "compiled-per-call"

CASES = [
    bad(
        _CONNECTION,
        "go",
        """
        package a
        import "database/sql"
        func (r *Repo) Email(id int64) (string, error) {
        	db, err := sql.Open("postgres", r.dsn)
        	if err != nil { return "", err }
        	defer db.Close()
        	var e string
        	err = db.QueryRow("SELECT 1").Scan(&e)
        	return e, err
        }
        """,
        4,
    ),
    good(
        _CONNECTION,
        "go",
        """
        package a
        import "database/sql"
        func openRepo(dsn string) (*Repo, error) {
        	db, err := sql.Open("postgres", dsn)
        	if err != nil { return nil, err }
        	return &Repo{db: db}, nil
        }
        """,
    ),
    good(
        _CONNECTION,
        "go",
        """
        package a
        import "database/sql"
        func migrate(dsn string) error {
        	db, err := sql.Open("postgres", dsn)
        	if err != nil { return err }
        	defer db.Close()
        	_, err = db.Exec("CREATE TABLE t (id int)")
        	return err
        }
        """,
    ),
    bad(
        _CONNECTION,
        "csharp",
        """
        class A { async Task<string> Load(string id) {
         using var mux = await ConnectionMultiplexer.ConnectAsync(_cs);
         return await mux.GetDatabase().StringGetAsync(id); } }
        """,
        2,
    ),
    good(_CONNECTION, "csharp", "class A { A(string cs) { _mux = ConnectionMultiplexer.Connect(cs); } }"),
    bad(
        _CONNECTION,
        "rust",
        """
        async fn find(id: i64) -> Result<Order, E> {
         let pool = sqlx::PgPool::connect(&url()).await?;
         Ok(sqlx::query_as("SELECT 1").bind(id).fetch_one(&pool).await?)
        }
        """,
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
        """
        class E(private val props: Properties) { fun emit(v: String) {
         KafkaProducer<String, String>(props).use { it.send(record(v)) } } }
        """,
        2,
    ),
    good(
        _CONNECTION,
        "kotlin",
        """
        class E(props: Properties) { private val producer = KafkaProducer<String, String>(props)
         fun emit(v: String) { producer.send(record(v)) } }
        """,
    ),
    bad(
        _CONNECTION,
        "java",
        """
        class A { void put(String key) {
         S3Client s3 = S3Client.create();
         s3.putObject(request(key)); } }
        """,
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
        """
        const { createClient } = require('redis');
        async function cached(key) {
         const client = createClient();
         await client.connect();
         const value = await client.get(key);
         await client.quit();
         return value;
        }
        """,
        3,
    ),
    bad(
        _CLIENT,
        "typescript",
        """
        import nodemailer from 'nodemailer';
        async function send(to: string) {
         const transport = nodemailer.createTransport({ host: 'x' });
         await transport.sendMail({ to });
        }
        """,
        3,
    ),
    good(
        _CLIENT,
        "typescript",
        """
        import nodemailer from 'nodemailer';
        function make(host: string) { return nodemailer.createTransport({ host }); }
        """,
    ),
    bad(
        _COMPILED,
        "java",
        """
        import com.fasterxml.jackson.databind.ObjectMapper;
        class A { byte[] encode(Event e) throws Exception {
         ObjectMapper mapper = new ObjectMapper();
         return mapper.writeValueAsBytes(e); } }
        """,
        3,
    ),
    good(
        _COMPILED,
        "java",
        """
        import com.fasterxml.jackson.databind.ObjectMapper;
        class A { private final ObjectMapper mapper; A() { mapper = new ObjectMapper(); } }
        """,
    ),
    bad(
        "connection-not-closed",
        "java",
        """
        import javax.sql.DataSource;
        class A { DataSource ds; String f() throws Exception {
         var c = ds.getConnection();
         var rs = c.prepareStatement("SELECT 1").executeQuery();
         return rs.getString(1); } }
        """,
        3,
    ),
    good(
        "connection-not-closed",
        "java",
        """
        import javax.sql.DataSource;
        class A { DataSource ds; String f() throws Exception { try (var c = ds.getConnection()) { return read(c); } } }
        """,
    ),
    bad(
        "connection-not-closed",
        "csharp",
        """
        class A { async Task<int> F() {
         var conn = new SqlConnection(_cs);
         var cmd = new SqlCommand("SELECT 1", conn);
         return (int)await cmd.ExecuteScalarAsync(); } }
        """,
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
        """
        import multer from 'multer';
        const upload = multer({ dest: '/tmp/x', limits: { fileSize: 1000 } });
        """,
    ),
    bad(
        "file-not-closed",
        "kotlin",
        """
        import java.io.FileInputStream
        import java.util.Properties
        fun f(path: String): Properties { val input = FileInputStream(path)
         return Properties().apply { load(input) } }
        """,
        3,
    ),
    bad(
        _CONNECTION,
        "python",
        """
        from elasticsearch import Elasticsearch
        class S:
            def query(self, text):
                es = Elasticsearch(self.hosts)
                return es.search(index='p', q=text)['hits']
        """,
        4,
    ),
    good(
        _CONNECTION,
        "python",
        """
        from elasticsearch import Elasticsearch
        class S:
            def __init__(self, hosts):
                self.es = Elasticsearch(hosts)
            def query(self, text):
                return self.es.search(index='p', q=text)['hits']
        """,
    ),
    bad(
        "response-not-closed",
        "java",
        """
        import okhttp3.*;
        class P { OkHttpClient http = new OkHttpClient(); boolean alive(Request r) throws Exception {
         Response res = http.newCall(r).execute();
         return res.isSuccessful(); } }
        """,
        3,
    ),
    good(
        "response-not-closed",
        "java",
        """
        import okhttp3.*;
        class P { OkHttpClient http = new OkHttpClient(); boolean alive(Request r) throws Exception { try (Response res = http.newCall(r).execute()) { return res.isSuccessful(); } } }
        """,
    ),
    good(
        "response-not-closed",
        "java",
        """
        import okhttp3.*;
        class P { OkHttpClient http = new OkHttpClient(); String load(Request r) throws Exception { Response res = http.newCall(r).execute(); return res.body().string(); } }
        """,
    ),
    bad(
        "whole-file-loaded",
        "rust",
        """
        use axum::extract::Path;
        async fn get(Path(name): Path<String>) -> R {
         let data = tokio::fs::read(path_of(&name)).await.map_err(not_found)?;
         Ok(Response::new(Body::from(data)))
        }
        """,
        3,
    ),
]
