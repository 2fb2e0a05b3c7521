"""Findings about messages, queues, open and temporary files are shown only where the file proves them."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

BY_SLUG = {rule.slug: rule for rule in RULES}
_PARSE = "unguarded-parse"
_TEMP = "temporary-file-left"
_LENGTH = "length-from-peer"
_OPEN = "file-not-closed"
_QUEUE = "unbounded-queue"

_CASES = [
    bad(_PARSE, "javascript", """
        app.post("/orders", (req, res) => {
          const order = JSON.parse(req.body.order);
          res.json(accept(order));
        });
    """, 2),
    # The same program publishes on the channel.
    good(_PARSE, "javascript", """
        this.redisForEvents.on("message", (channel, data) => {
          const event = JSON.parse(data);
          this.emit(event.type, event);
        });
    """),
    bad(_PARSE, "javascript", """
        socket.on("message", (data) => {
          const event = JSON.parse(data);
          apply(event);
        });
    """, 2),
    good(_PARSE, "javascript", """
        export async function handler() {
          const response = await got(ADDRESS);
          return list(JSON.parse(response.body));
        }
    """),
    bad(_PARSE, "javascript", """
        export async function handler(event) {
          return list(JSON.parse(event.body));
        }
    """, 2),
    good(_PARSE, "javascript", """
        const rows = statement.all(key);
        const items = rows.map((row) => JSON.parse(row.body));
    """),
    good(_PARSE, "javascript", """
        call({ method: "apps", callback: (r) => { fill(JSON.parse(r.message)); } });
    """),
    # The folder is where the result goes.
    good(_TEMP, "python", """
        import tempfile

        def export(options):
            folder = options["folder"]
            if folder is None:
                folder = tempfile.mkdtemp()
            write_all(folder)
    """),
    good(_TEMP, "python", """
        import tempfile

        def fetch(address):
            folder = tempfile.mkdtemp()
            archive = download(address, folder)
            return archive
    """),
    bad(_TEMP, "python", """
        import tempfile

        def fetch(address):
            folder = tempfile.mkdtemp()
            archive = download(address, folder)
            unpack(archive)
    """, 4),
    good(_TEMP, "go", """
        package run

        func files(args []string) ([]string, error) {
        	names := []string{}
        	for _, each := range args {
        		file, err := os.CreateTemp("", "arg")
        		if err != nil {
        			return nil, err
        		}
        		file.WriteString(each)
        		names = append(names, file.Name())
        	}
        	return names, nil
        }
    """),
    good(_LENGTH, "rust", """
        use tokio::net::TcpStream;
        fn entry(value: &[u8]) -> Result<Vec<u8>> {
            let mut cursor = Cursor::new(value);
            let length = cursor.read_u32::<BigEndian>()?;
            let mut data = vec![0; length as usize];
            cursor.read_exact(&mut data)?;
            Ok(data)
        }
    """),
    bad(_LENGTH, "rust", """
        use tokio::net::TcpStream;
        async fn frame(stream: &mut TcpStream) -> Result<Vec<u8>> {
            let length = stream.read_u32().await?;
            let mut data = vec![0; length as usize];
            stream.read_exact(&mut data).await?;
            Ok(data)
        }
    """, 3),
    # To close the channel closes the file.
    good(_OPEN, "java", """
        import java.io.FileInputStream;
        class Files {
          long size(File file) throws IOException {
            try (FileChannel channel = new FileInputStream(file).getChannel()) { return channel.size(); }
          }
        }
    """),
    bad(_OPEN, "java", """
        import java.io.FileInputStream;
        class Files {
          long size(File file) throws IOException {
            FileChannel channel = new FileInputStream(file).getChannel();
            return channel.size();
          }
        }
    """, 4),
    good(_OPEN, "csharp", """
        class C { string Read(Stream content) { return new StreamReader(content).ReadToEnd(); } }
    """),
    good(_OPEN, "csharp", """
        class C { string Read() { var script = assembly.GetManifestResourceStream("a.sql");
         var reader = new StreamReader(script!); return reader.ReadToEnd(); } }
    """),
    good(_OPEN, "kotlin", """
        import java.io.FileOutputStream
        fun write(file: File, head: ByteArray, rest: InputStream) {
            FileOutputStream(file).apply {
                write(head)
                use { rest.copyTo(it) }
            }
        }
    """),
    good(_OPEN, "go", """
        package main

        func main() {
        	file, err := os.Create("generated.go")
        	if err != nil {
        		os.Exit(1)
        	}
        	file.Write(generated())
        }
    """),
    # Without a receiver, nothing can be sent.
    good(_QUEUE, "rust", """
        use sqlx::PgPool;
        fn idle(pool: PgPool) -> Writer {
            let (sender, _) = flume::unbounded();
            Writer { pool, sender }
        }
    """),
    # The pool never grows, because its queue is never full.
    bad(_QUEUE, "java", """
        import java.util.concurrent.*;
        class Pools {
          static Executor of(int least, int most) {
            return new ThreadPoolExecutor(least, most, 60, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
          }
        }
    """, 4),
    good(_QUEUE, "java", """
        import java.util.concurrent.*;
        class Pools {
          static Executor of(int size) {
            return new ThreadPoolExecutor(size, size, 60, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
          }
        }
    """),
    bad(_QUEUE, "java", """
        import java.util.concurrent.*;
        class Painter {
          private final ThreadPoolExecutor pool =
              new ThreadPoolExecutor(4, 4, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
          void paint(Picture picture) { pool.execute(() -> draw(picture)); }
        }
    """, 4),
    good(_TEMP, "java", """
        import java.nio.file.Files;
        class Images {
          File of(Image image) throws IOException {
            Path path = Files.createTempFile("image", ".png");
            File file = path.toFile();
            write(image, file);
            return file;
          }
        }
    """),
    good(_PARSE, "python", """
        def histories(messages):
            for message in messages:
                yield json.loads(message.edit_history)
    """),
    good(_PARSE, "typescript", """
        async function onMessage(channel: string, data: string) {
          apply(JSON.parse(data));
        }
        redisForEvents.on("message", onMessage);
    """),
    good(_LENGTH, "java", """
        import java.net.Socket;
        class Decoder {
          byte[] body(ByteBuffer buffer) {
            int length = buffer.getInt();
            byte[] body = new byte[length];
            buffer.get(body);
            return body;
          }
        }
    """),
    good(_OPEN, "kotlin", """
        import java.io.FileInputStream
        fun source(path: String): RawSource? {
            return try {
                FileInputStream(path).asSource()
            } catch (_: IOException) {
                null
            }
        }
    """),
    good(_OPEN, "csharp", """
        class C { string Unzip(byte[] bytes) { using var packed = new GZipStream(Memory(bytes), mode);
         var reader = new StreamReader(packed); return reader.ReadToEnd(); } }
    """),
    good("connection-not-closed", "kotlin", """
        import java.net.Socket
        fun connect(address: InetSocketAddress): Socket {
            val socket = if (secure) factory.createSocket() else Socket()
            socket.connect(address, 5000)
            return socket
        }
    """),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_what_the_text_proves_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
