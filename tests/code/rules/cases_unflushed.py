"""Buffers that are not flushed, deadlines of stubs that are kept, and waits for tasks of a pool."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

CASES: list[Case] = [
    bad(
        "outcome-ignored",
        "rust",
        """
        use std::fs::File;
        use std::io::{BufWriter, Write};
        fn write_rows(path: &Path, rows: &[Row]) -> io::Result<()> {
            let file = File::create(path)?;
            let mut out = BufWriter::new(file);
            for row in rows {
                serde_json::to_writer(&mut out, row)?;
                out.write_all(b"\\n")?;
            }
            Ok(())
        }
        """,
        5,
    ),
    good(
        "outcome-ignored",
        "rust",
        """
        use std::fs::File;
        use std::io::{BufWriter, Write};
        fn write_rows(path: &Path, rows: &[Row]) -> io::Result<()> {
            let mut out = BufWriter::new(File::create(path)?);
            for row in rows {
                out.write_all(row)?;
            }
            out.flush()
        }
        """,
    ),
    good(
        "outcome-ignored",
        "rust",
        """
        use std::fs::File;
        use std::io::{BufWriter, Write};
        fn open(path: &Path) -> io::Result<Log> {
            let out = BufWriter::new(File::create(path)?);
            Ok(Log { out })
        }
        """,
    ),
    bad(
        "outcome-ignored",
        "go",
        """
        package a
        import ("bufio"; "fmt"; "os")
        func export(path string, rows []Row) error {
            f, err := os.Create(path)
            if err != nil {
                return err
            }
            w := bufio.NewWriter(f)
            for _, r := range rows {
                fmt.Fprintln(w, r.Name)
            }
            return f.Close()
        }
        """,
        8,
    ),
    good(
        "outcome-ignored",
        "go",
        """
        package a
        import ("bufio"; "fmt"; "os")
        func export(f *os.File, rows []Row) error {
            w := bufio.NewWriter(f)
            for _, r := range rows {
                fmt.Fprintln(w, r.Name)
            }
            return w.Flush()
        }
        """,
    ),
    good(
        "outcome-ignored",
        "go",
        """
        package a
        import "bufio"
        func (s *Server) open(c net.Conn) *session {
            w := bufio.NewWriter(c)
            return &session{w: w}
        }
        """,
    ),
    bad(
        "outcome-ignored",
        "python",
        """
        from kafka import KafkaProducer
        producer = KafkaProducer(bootstrap_servers="kafka:9092")
        def main():
            for row in rows():
                producer.send("rows", row)
        """,
        2,
    ),
    good(
        "outcome-ignored",
        "python",
        """
        from kafka import KafkaProducer
        producer = KafkaProducer(bootstrap_servers="kafka:9092")
        def main():
            for row in rows():
                producer.send("rows", row)
            producer.flush()
        """,
    ),
    bad(
        "grpc-call-without-deadline",
        "kotlin",
        """
        import io.grpc.ManagedChannel
        class Client(channel: ManagedChannel) {
            private val stub = FeaturesCoroutineStub(channel).withDeadlineAfter(2, SECONDS)
            suspend fun get(id: String) = stub.get(request(id))
        }
        """,
        3,
    ),
    bad(
        "grpc-call-without-deadline",
        "java",
        """
        package a;
        class Client {
            private final FeaturesGrpc.FeaturesBlockingStub stub;
            Client(ManagedChannel channel) {
                this.stub = FeaturesGrpc.newBlockingStub(channel).withDeadlineAfter(2, TimeUnit.SECONDS);
            }
            Reply get(String id) { return stub.get(request(id)); }
        }
        """,
        5,
    ),
    good(
        "grpc-call-without-deadline",
        "java",
        """
        package a;
        class Client {
            private final FeaturesGrpc.FeaturesBlockingStub stub;
            Client(ManagedChannel channel) {
                this.stub = FeaturesGrpc.newBlockingStub(channel);
            }
            Reply get(String id) {
                FeaturesGrpc.FeaturesBlockingStub one = stub.withDeadlineAfter(2, TimeUnit.SECONDS);
                return one.get(request(id));
            }
        }
        """,
    ),
    good(
        "missing-cancellation",
        "go",
        """
        package a
        func (b *Batcher) Run(ctx context.Context) {
            for {
                select {
                case <-b.ticker.C:
                    b.flush(ctx)
                case <-ctx.Done():
                    last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
                    defer cancel()
                    b.flush(last)
                    return
                }
            }
        }
        """,
    ),
    bad(
        "future-without-timeout",
        "java",
        """
        package a;
        import java.util.concurrent.CountDownLatch;
        import java.util.concurrent.ExecutorService;
        class Fanout {
            private final ExecutorService pool;
            List<Quote> all(List<Supplier<Quote>> s) throws InterruptedException {
                CountDownLatch latch = new CountDownLatch(s.size());
                List<Quote> out = new CopyOnWriteArrayList<>();
                s.forEach(q -> pool.execute(() -> { try { add(q); } finally { latch.countDown(); }}));
                latch.await();
                return out;
            }
        }
        """,
        10,
    ),
    bad(
        "future-without-timeout",
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(8)
        @app.get("/quote")
        def quote():
            fut = pool.submit(pricing.quote, request.args["sku"])
            return jsonify(fut.result())
        """,
        6,
    ),
]
