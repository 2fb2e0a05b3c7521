"""Files, uploads and downloads held whole, streams left open, in the languages that came later."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_FILE, _BODY, _OPEN, _LIMIT = (
    "whole-file-loaded",
    "whole-body-loaded",
    "file-not-closed",
    "retry-without-limit",
)

CASES = [
    bad(
        _FILE,
        "csharp",
        """
        class C : ControllerBase { [HttpGet("r/{id}")] public async Task<IActionResult> Get(Guid id) {
         var bytes = await System.IO.File.ReadAllBytesAsync(Name(id));
         return File(bytes, "application/zip"); } }
        """,
        2,
    ),
    good(
        _FILE,
        "csharp",
        'class C : ControllerBase { [HttpGet("r/{id}")] public IActionResult Get(Guid id) { return PhysicalFile(Name(id), "application/zip"); } }',
    ),
    bad(
        _FILE,
        "csharp",
        """
        class C { int F(string path) { var n = 0;
         foreach (var line in File.ReadAllLines(path)) n++;
         return n; } }
        """,
        2,
    ),
    good(
        _FILE, "csharp", "class C { string[] F(string configPath) { return File.ReadAllLines(configPath); } }"
    ),
    bad(
        _FILE,
        "csharp",
        """
        class C { [HttpPost("v")] public async Task Up(IFormFile file) { using var m = new MemoryStream();
         await file.CopyToAsync(m);
         await _store.Put(m.ToArray()); } }
        """,
        2,
    ),
    good(
        _FILE,
        "csharp",
        'class C { [HttpPost("v")] public async Task Up(IFormFile file) { if (file.Length > Max) throw new E(); using var m = new MemoryStream(); await file.CopyToAsync(m); } }',
    ),
    bad(
        _FILE,
        "kotlin",
        """
        import java.io.File
        @RestController
        class E { @GetMapping("/e/{name}")
         fun get(@PathVariable name: String): ByteArray = File("/data", name).readBytes() }
        """,
        4,
    ),
    bad(
        _FILE,
        "kotlin",
        "import java.io.File\nfun count(f: File): Int {\n return f.readLines().count { it.isNotBlank() }\n}",
        3,
    ),
    good(_FILE, "kotlin", "import java.io.File\nfun count(f: File) = f.useLines { it.count() }"),
    bad(
        _FILE,
        "rust",
        """
        use std::fs;
        pub fn count(path: &str) -> std::io::Result<usize> {
         let text = fs::read_to_string(path)?;
         Ok(text.lines().count())
        }
        """,
        3,
    ),
    good(
        _FILE,
        "rust",
        """
        use std::fs;
        pub fn load(config_path: &str) -> std::io::Result<usize> { let text = fs::read_to_string(config_path)?; Ok(text.lines().count()) }
        """,
    ),
    bad(
        _FILE,
        "java",
        """
        import org.springframework.web.multipart.MultipartFile;
        class A { @PostMapping("/i") void up(@RequestParam MultipartFile file) throws Exception {
         store(file.getBytes()); } }
        """,
        3,
    ),
    bad(
        _FILE,
        "python",
        """
        import gzip
        from flask import Flask, request
        app = Flask(__name__)
        @app.post('/in')
        def take():
            queue.put(gzip.decompress(request.data))
            return ''
        """,
        6,
    ),
    bad(
        _FILE,
        "go",
        """
        package a
        import (
        	"compress/gzip"
        	"io"
        	"net/http"
        )
        func push(w http.ResponseWriter, r *http.Request) {
        	zr, err := gzip.NewReader(http.MaxBytesReader(w, r.Body, 100))
        	if err != nil { return }
        	data, err := io.ReadAll(zr)
        	use(data, err)
        }
        """,
        10,
    ),
    good(
        _FILE,
        "go",
        """
        package a
        import (
        	"compress/gzip"
        	"io"
        	"net/http"
        )
        func push(w http.ResponseWriter, r *http.Request) {
        	zr, err := gzip.NewReader(http.MaxBytesReader(w, r.Body, 100))
        	if err != nil { return }
        	data, err := io.ReadAll(io.LimitReader(zr, 1000))
        	use(data, err)
        }
        """,
    ),
    bad(
        _FILE,
        "python",
        """
        import boto3, csv, io
        s3 = boto3.client('s3')
        def load(bucket, key):
            body = s3.get_object(Bucket=bucket, Key=key)['Body'].read().decode()
            for row in csv.DictReader(io.StringIO(body)):
                store(row)
        """,
        4,
    ),
    bad(
        _BODY,
        "rust",
        """
        async fn get(c: &reqwest::Client, u: &str) -> R {
         let b = c.get(u).send().await?.error_for_status()?.bytes().await?;
         tokio::fs::write("x", &b).await?;
         Ok(())
        }
        """,
        2,
    ),
    bad(
        _BODY,
        "csharp",
        """
        class C { async Task F(string u) {
         var b = await _http.GetByteArrayAsync(u);
         await File.WriteAllBytesAsync("x", b); } }
        """,
        2,
    ),
    good(
        _BODY,
        "csharp",
        'class C { async Task F(string u) { await using var s = await _http.GetStreamAsync(u); await using var f = File.Create("x"); await s.CopyToAsync(f); } }',
    ),
    bad(
        _OPEN,
        "java",
        """
        import java.nio.file.*;
        class A { long f(Path p) throws Exception {
         return Files.lines(p).count(); } }
        """,
        3,
    ),
    good(
        _OPEN,
        "java",
        """
        import java.nio.file.*;
        class A { long f(Path p) throws Exception { try (var lines = Files.lines(p)) { return lines.count(); } } }
        """,
    ),
    bad(
        _OPEN,
        "csharp",
        """
        class C { async Task F(Stream s, string target) {
         var file = File.Create(target);
         await s.CopyToAsync(file); } }
        """,
        2,
    ),
    good(
        _OPEN,
        "csharp",
        "class C { async Task F(Stream s, string target) { await using var file = File.Create(target); await s.CopyToAsync(file); } }",
    ),
    good(
        _LIMIT,
        "csharp",
        "class C { async Task F() { for (var attempt = 1; ; attempt++) { try { await _crm.Push(); return; } catch (HttpRequestException ex) when (attempt < 5) { await Task.Delay(100 * attempt); } } } }",
    ),
]
