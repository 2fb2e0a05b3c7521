"""What a function takes and gives back itself, from libraries that no table knows."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("released-on-success-only", "csharp", """
        using System.IO;
        using System.Threading.Tasks;
        using SixLabors.ImageSharp;

        public sealed class Thumbnails
        {
            private readonly IAssetStore _assets;

            public Thumbnails(IAssetStore assets) => _assets = assets;

            public async Task<byte[]?> MakeAsync(string id)
            {
                var image = await Image.LoadAsync(_assets.PathOf(id));
                if (image.Width < 10)
                {
                    return null;
                }
                var bytes = await _assets.EncodeAsync(image);
                image.Dispose();
                return bytes;
            }
        }
        """, 13),
    good("released-on-success-only", "csharp", """
        using System.IO;
        using System.Threading.Tasks;
        using SixLabors.ImageSharp;

        public sealed class Thumbnails
        {
            private readonly IAssetStore _assets;

            public Thumbnails(IAssetStore assets) => _assets = assets;

            public async Task<byte[]?> MakeAsync(string id)
            {
                using var image = await Image.LoadAsync(_assets.PathOf(id));
                if (image.Width < 10)
                {
                    return null;
                }
                return await _assets.EncodeAsync(image);
            }
        }
        """),
    bad("released-on-success-only", "csharp", """
        using System.Threading;
        using System.Threading.Tasks;

        public sealed class NightlyClose
        {
            private readonly IDistributedLocks _locks;
            private readonly ILedger _ledger;

            public NightlyClose(IDistributedLocks locks, ILedger ledger)
            {
                _locks = locks;
                _ledger = ledger;
            }

            public async Task RunAsync(string day, CancellationToken ct)
            {
                var handle = await _locks.TryAcquireAsync("close:" + day, ct);
                if (handle is null)
                {
                    return;
                }
                var open = await _ledger.OpenItemsAsync(day, ct);
                if (open > 0)
                {
                    throw new OpenItemsException(day, open);
                }
                await _ledger.CloseAsync(day, ct);
                await handle.DisposeAsync();
            }
        }
        """, 17),
    good("released-on-success-only", "csharp", """
        public sealed class Near
        {
            public async Task<string> Get(HttpClient http, string url, CancellationToken ct)
            {
                var cts = CancellationTokenSource.CreateLinkedTokenSource(ct);
                cts.CancelAfter(1000);
                try
                {
                    return await http.GetStringAsync(url, cts.Token);
                }
                finally
                {
                    cts.Dispose();
                }
            }

            public byte[] Pack(Doc doc)
            {
                var stream = new MemoryStream();
                doc.Save(stream);
                var bytes = stream.ToArray();
                stream.Dispose();
                return bytes;
            }

            public Stream Open(string path)
            {
                var reader = Archive.Open(path);
                if (!reader.IsValid)
                {
                    reader.Dispose();
                    throw new InvalidDataException(path);
                }
                return new WrappedStream(reader);
            }
        }
        """),
    bad("released-on-success-only", "go", """
        package ingest

        import (
            "context"
            "fmt"

            "github.com/klauspost/compress/zstd"
            "go.etcd.io/bbolt"
        )

        // Load copies the entries of a snapshot into the index.
        func Load(ctx context.Context, path string, idx *Index) (int, error) {
            db, err := bbolt.Open(path, 0o600, nil)
            if err != nil {
                return 0, fmt.Errorf("open %s: %w", path, err)
            }
            n, err := idx.CopyFrom(ctx, db)
            if err != nil {
                return 0, fmt.Errorf("copy: %w", err)
            }
            if n == 0 {
                return 0, ErrEmpty
            }
            if err := db.Close(); err != nil {
                return n, err
            }
            return n, nil
        }
        """, 13),
    good("released-on-success-only", "go", """
        package ingest

        import (
            "context"
            "fmt"

            "go.etcd.io/bbolt"
        )

        // Load copies the entries of a snapshot into the index.
        func Load(ctx context.Context, path string, idx *Index) (int, error) {
            db, err := bbolt.Open(path, 0o600, nil)
            if err != nil {
                return 0, fmt.Errorf("open %s: %w", path, err)
            }
            defer db.Close()
            n, err := idx.CopyFrom(ctx, db)
            if err != nil {
                return 0, fmt.Errorf("copy: %w", err)
            }
            if n == 0 {
                return 0, ErrEmpty
            }
            return n, nil
        }
        """),
    bad("released-on-success-only", "go", """
        package worker

        import (
            "context"
            "fmt"
        )

        func (r *Runner) RunOnce(ctx context.Context, name string) error {
            lease, err := r.leases.Claim(ctx, name)
            if err != nil {
                return fmt.Errorf("claim %s: %w", name, err)
            }
            batch, err := r.store.Pending(ctx, name)
            if err != nil {
                return err
            }
            if len(batch) == 0 {
                return nil
            }
            for _, item := range batch {
                if err := r.handle(ctx, item); err != nil {
                    return fmt.Errorf("item %s: %w", item.ID, err)
                }
            }
            return lease.Release(ctx)
        }
        """, 9),
    good("released-on-success-only", "go", """
        package worker

        import (
            "context"
            "fmt"
        )

        func (r *Runner) RunOnce(ctx context.Context, name string) error {
            lease, err := r.leases.Claim(ctx, name)
            if err != nil {
                return fmt.Errorf("claim %s: %w", name, err)
            }
            defer lease.Release(context.WithoutCancel(ctx))
            batch, err := r.store.Pending(ctx, name)
            if err != nil {
                return err
            }
            if len(batch) == 0 {
                return nil
            }
            for _, item := range batch {
                if err := r.handle(ctx, item); err != nil {
                    return fmt.Errorf("item %s: %w", item.ID, err)
                }
            }
            return nil
        }
        """),
    bad("released-on-success-only", "go", """
        package scan

        import (
            "context"

            "github.com/gocql/gocql"
            "go.mongodb.org/mongo-driver/mongo"
        )

        func (s *Store) Names(ctx context.Context, tenant string) ([]string, error) {
            cur, err := s.col.Find(ctx, map[string]any{"tenant": tenant})
            if err != nil {
                return nil, err
            }
            var out []string
            for cur.Next(ctx) {
                var doc struct{ Name string }
                if err := cur.Decode(&doc); err != nil {
                    return nil, err
                }
                out = append(out, doc.Name)
            }
            if err := cur.Close(ctx); err != nil {
                return nil, err
            }
            return out, cur.Err()
        }

        var _ = gocql.Session{}
        var _ mongo.Client
        """, 11),
    good("released-on-success-only", "go", """
        package export

        import (
            "archive/zip"
            "bytes"
            "compress/gzip"
            "mime/multipart"
            "io"
        )

        func Bundle(files map[string][]byte) ([]byte, error) {
            var buf bytes.Buffer
            zw := zip.NewWriter(&buf)
            for name, data := range files {
                w, err := zw.Create(name)
                if err != nil {
                    return nil, err
                }
                if _, err := w.Write(data); err != nil {
                    return nil, err
                }
            }
            if err := zw.Close(); err != nil {
                return nil, err
            }
            return buf.Bytes(), nil
        }

        func Form(data io.Reader) (*bytes.Buffer, string, error) {
            var buf bytes.Buffer
            mw := multipart.NewWriter(&buf)
            part, err := mw.CreateFormFile("file", "x")
            if err != nil {
                return nil, "", err
            }
            if _, err := io.Copy(part, data); err != nil {
                return nil, "", err
            }
            if err := mw.Close(); err != nil {
                return nil, "", err
            }
            return &buf, mw.FormDataContentType(), nil
        }

        func Unpack(data []byte) ([]byte, error) {
            zr, err := gzip.NewReader(bytes.NewReader(data))
            if err != nil {
                return nil, err
            }
            out, err := io.ReadAll(io.LimitReader(zr, 1<<20))
            if err != nil {
                return nil, err
            }
            return out, zr.Close()
        }
        """),
    good("released-on-success-only", "go", """
        package near

        import (
            "context"
            "errors"
            "io"
            "os"
        )

        func Dial(ctx context.Context, addr string) (*Client, error) {
            conn, err := open(ctx, addr)
            if err != nil {
                return nil, err
            }
            if err := conn.Hello(ctx); err != nil {
                conn.Close()
                return nil, err
            }
            return &Client{conn: conn}, nil
        }

        func Copy(dst, src string) error {
            in, err := openSource(src)
            if err != nil {
                return err
            }
            defer in.Close()
            out, err := createTarget(dst)
            if err != nil {
                return err
            }
            if _, err := io.Copy(out, in); err != nil {
                out.Close()
                os.Remove(dst)
                return err
            }
            return out.Close()
        }

        func Probe(ctx context.Context, pool Pool) error {
            c, err := pool.Lease(ctx)
            if err != nil {
                if errors.Is(err, context.Canceled) {
                    return nil
                }
                return err
            }
            err = c.Ping(ctx)
            c.Release()
            return err
        }

        func (s *Server) Start(ctx context.Context) error {
            sub, err := s.bus.Subscribe(ctx, "x")
            if err != nil {
                return err
            }
            s.sub = sub
            for {
                m, err := sub.Next(ctx)
                if err != nil {
                    return err
                }
                s.handle(m)
            }
        }
        """),
    bad("released-on-success-only", "kotlin", """
        package docs

        import org.apache.pdfbox.Loader
        import java.io.File

        class InvoiceReader(private val parser: InvoiceParser) {
            fun read(file: File): Invoice? {
                val document = Loader.loadPDF(file)
                if (document.numberOfPages == 0) return null
                val invoice = parser.parse(document)
                document.close()
                return invoice
            }
        }
        """, 8),
    good("released-on-success-only", "kotlin", """
        package docs

        import org.apache.pdfbox.Loader
        import java.io.File

        class InvoiceReader(private val parser: InvoiceParser) {
            fun read(file: File): Invoice? =
                Loader.loadPDF(file).use { document ->
                    if (document.numberOfPages == 0) null else parser.parse(document)
                }
        }
        """),
    good("released-on-success-only", "kotlin", """
        class Near(private val pool: Pool) {
            fun read(): String? {
                val lease = pool.borrow() ?: return null
                return try {
                    lease.read()
                } finally {
                    lease.release()
                }
            }

            fun make(): Client {
                val channel = Channels.open("x")
                return Client(channel)
            }
        }
        """),
]
