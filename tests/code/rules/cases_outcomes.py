"""Reads that end early, locks that were not taken, failed items of batches, streams that take no more."""

# ruff: noqa: E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_OUTCOME, _ITEMS, _PRESSURE, _ERROR = (
    "outcome-ignored",
    "failed-items-ignored",
    "backpressure-ignored",
    "ignored-error",
)

CASES = [
    good(
        _ITEMS,
        "java",
        "class Logout { Token build(Token token) { token.putEvents(EVENT, map()); return token; } }",
    ),
    good(
        _ITEMS,
        "go",
        """
        package store
        import "github.com/aws/aws-sdk-go-v2/service/dynamodb"
        func (s *Store) clear(ctx context.Context, api *dynamodb.Client, rows []row) error {
            return s.all(func() error { if err := s.batchWriteItem(ctx, api, rows); err != nil { return err }; return nil })
        }
        """,
    ),
    bad(
        _OUTCOME,
        "java",
        "class A { void f(InputStream in) { byte[] b = new byte[8]; in.read(b); use(b); } }",
        1,
    ),
    good(
        _OUTCOME,
        "java",
        "class A { void f(InputStream in) { byte[] b = new byte[8]; int n = in.read(b); use(b, n); } }",
    ),
    good(_OUTCOME, "java", "class A { void f(InputStream in) { in.read(); } }"),
    bad(_OUTCOME, "java", "class A { void f(File a, File b) { a.renameTo(b); } }", 1),
    good(_OUTCOME, "java", "class A { void f(File a, File b) { if (!a.renameTo(b)) throw new E(); } }"),
    bad(
        _OUTCOME,
        "csharp",
        "class A { async Task F(Stream stream) { var b = new byte[8]; await stream.ReadAsync(b, 0, 8); Use(b); } }",
        1,
    ),
    good(
        _OUTCOME,
        "csharp",
        "class A { async Task F(Stream stream) { var b = new byte[8]; await stream.ReadExactlyAsync(b); Use(b); } }",
    ),
    bad(
        _OUTCOME,
        "csharp",
        "class A { async Task F() { await _gate.WaitAsync(TimeSpan.FromSeconds(1)); Work(); } }",
        1,
    ),
    good(_OUTCOME, "csharp", "class A { async Task F() { await _gate.WaitAsync(); Work(); } }"),
    bad(
        _OUTCOME,
        "rust",
        """
        use tokio::io::AsyncReadExt;
        async fn f(stream: &mut TcpStream) -> std::io::Result<[u8; 4]> {
            let mut b = [0u8; 4];
            stream.read(&mut b).await?;
            Ok(b)
        }
        """,
        4,
    ),
    good(
        _OUTCOME,
        "rust",
        """
        use tokio::io::AsyncReadExt;
        async fn f(stream: &mut TcpStream) -> std::io::Result<usize> {
            let mut b = [0u8; 4];
            let n = stream.read(&mut b).await?;
            std::fs::write("a", &b)?;
            Ok(n)
        }
        """,
    ),
    bad(
        _OUTCOME,
        "go",
        "package a\nfunc f(conn net.Conn) error {\n\tb := make([]byte, 4)\n\tif _, err := conn.Read(b); err != nil {\n\t\treturn err\n\t}\n\treturn use(b)\n}",
        4,
    ),
    good(
        _OUTCOME,
        "go",
        "package a\nfunc f(conn net.Conn) error {\n\tb := make([]byte, 4)\n\tn, err := conn.Read(b)\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn use(b[:n])\n}",
    ),
    good(
        _OUTCOME,
        "go",
        "package a\nfunc f(conn net.Conn) error {\n\tb := make([]byte, 4)\n\t_, err := conn.Read(b)\n\treturn err\n}",
    ),
    bad(_OUTCOME, "python", "import struct\ndef f(sock):\n    return struct.unpack('!I', sock.recv(4))", 3),
    bad(_OUTCOME, "python", "import socket\ndef f(sock, data):\n    sock.send(data)", 3),
    good(_OUTCOME, "python", "import socket\ndef f(sock, data):\n    sock.sendall(data)"),
    bad(_OUTCOME, "python", "def f(self):\n    self.lock.acquire(timeout=5)\n    self.work()", 2),
    good(_OUTCOME, "python", "def f(self):\n    self.lock.acquire()\n    self.work()"),
    bad(
        _ITEMS,
        "python",
        "def f(self, url, entries):\n    self.sqs.send_message_batch(QueueUrl=url, Entries=entries)",
        2,
    ),
    good(
        _ITEMS,
        "python",
        "def f(self, url, entries):\n    answer = self.sqs.send_message_batch(QueueUrl=url, Entries=entries)\n    return answer",
    ),
    bad(
        _ITEMS,
        "typescript",
        "class A { async f(items: I[]) { await this.db.send(new BatchWriteItemCommand({ RequestItems: { t: items } })); } }",
        1,
    ),
    good(
        _ITEMS,
        "typescript",
        "class A { async f(items: I[]) { const a = await this.db.send(new BatchWriteItemCommand({ RequestItems: { t: items } })); if (a.UnprocessedItems) throw new E(); } }",
    ),
    bad(
        _ITEMS,
        "javascript",
        "const { Client } = require('@elastic/elasticsearch');\nasync function f(client, operations) { await client.bulk({ operations }); }",
        2,
    ),
    good(_ITEMS, "javascript", "async function f(client, rows) { await client.bulk(rows); }"),
    bad(
        _ITEMS,
        "go",
        "package a\nfunc (s *S) f(ctx context.Context, in *kinesis.PutRecordsInput) error {\n\t_, err := s.client.PutRecords(ctx, in)\n\treturn err\n}",
        3,
    ),
    bad(
        _PRESSURE,
        "javascript",
        "async function f(req, res) { for await (const row of rows()) { res.write(row.text); } res.end(); }",
        1,
    ),
    good(
        _PRESSURE,
        "javascript",
        "async function f(req, res) { for await (const row of rows()) { if (!res.write(row.text)) await once(res, 'drain'); } res.end(); }",
    ),
    good(_PRESSURE, "javascript", "async function f(req, res) { res.write('a'); res.end(); }"),
    bad(
        _PRESSURE,
        "typescript",
        "import fs from 'fs';\nfunction f(source: S) { const out = fs.createWriteStream('a'); source.on('data', (part) => { out.write(part); }); }",
        2,
    ),
    bad(
        _ERROR,
        "go",
        "package a\nfunc (s *S) f(ctx context.Context, o Order) error {\n\ts.repo.Save(ctx, o)\n\treturn nil\n}",
        3,
    ),
    bad(
        _ERROR,
        "go",
        'package a\nimport "bufio"\nfunc f(out io.Writer) {\n\tw := bufio.NewWriter(out)\n\tw.WriteString("a")\n\tw.Flush()\n}',
        6,
    ),
    good(
        _ERROR,
        "go",
        "package a\nfunc (s *S) f(ctx context.Context, o Order) error {\n\ts.metrics.Add(ctx, 1)\n\treturn s.repo.Save(ctx, o)\n}",
    ),
    good(
        _ERROR,
        "go",
        "package a\nfunc (s *S) Close(ctx context.Context) {\n\ts.repo.Save(ctx, s.last)\n}",
    ),
]
