"""Work that a helper starts and leaves alone, retries by a kind of error, and reads through others (Go)."""

# ruff: noqa: E101, E501  (snippets of Go; lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_HANDED = "message-handed-off"
_LIMIT = "retry-without-limit"
_SOCKET = "socket-without-timeout"

CASES = [
    bad(
        _HANDED,
        "python",
        """
        import asyncio
        from aiokafka import AIOKafkaConsumer

        async def run(consumer: AIOKafkaConsumer):
            async for message in consumer:
                dispatch(message)
                await consumer.commit()

        def dispatch(message):
            asyncio.create_task(book(message.value))

        async def book(value):
            await db.execute("INSERT INTO t VALUES ($1)", value)
        """,
        6,
    ),
    bad(
        _HANDED,
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor
        import boto3

        pool = ThreadPoolExecutor(8)
        sqs = boto3.client("sqs")

        def poll(url):
            while True:
                for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages", []):
                    hand_over(message)
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

        def hand_over(message):
            pool.submit(book, message["Body"])
        """,
        10,
    ),
    bad(
        _HANDED,
        "go",
        """
        package p

        import (
        	"context"

        	"github.com/segmentio/kafka-go"
        )

        type Consumer struct {
        	reader *kafka.Reader
        }

        func (c *Consumer) Run(ctx context.Context) error {
        	for {
        		msg, err := c.reader.FetchMessage(ctx)
        		if err != nil {
        			return err
        		}
        		c.dispatch(ctx, msg)
        		if err := c.reader.CommitMessages(ctx, msg); err != nil {
        			return err
        		}
        	}
        }

        func (c *Consumer) dispatch(ctx context.Context, msg kafka.Message) {
        	go func() {
        		if err := c.book(ctx, msg.Value); err != nil {
        			log.Printf("booking: %v", err)
        		}
        	}()
        }
        """,
        19,
    ),
    bad(
        _HANDED,
        "kotlin",
        """
        class Bookings(private val consumer: KafkaConsumer<String, ByteArray>, private val scope: CoroutineScope) {
            fun run() {
                while (true) {
                    val records = consumer.poll(Duration.ofSeconds(1))
                    bookAll(records)
                    consumer.commitSync()
                }
            }

            private fun bookAll(records: ConsumerRecords<String, ByteArray>) {
                for (record in records) {
                    scope.launch { booker.book(record.value()) }
                }
            }
        }
        """,
        5,
    ),
    bad(
        _HANDED,
        "csharp",
        """
        public class Bookings
        {
            public void Run(IConsumer<string, byte[]> consumer, CancellationToken ct)
            {
                while (!ct.IsCancellationRequested)
                {
                    var result = consumer.Consume(ct);
                    Dispatch(result.Message);
                    consumer.Commit(result);
                }
            }

            private void Dispatch(Message<string, byte[]> message)
            {
                _ = Task.Run(() => _booker.BookAsync(message.Value));
            }
        }
        """,
        8,
    ),
    bad(
        _HANDED,
        "rust",
        """
        use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};

        pub async fn run(consumer: StreamConsumer, booker: Arc<Booker>) -> Result<(), KafkaError> {
            loop {
                let message = consumer.recv().await?;
                dispatch(&booker, message.detach());
                consumer.commit_message(&message, CommitMode::Async)?;
            }
        }

        fn dispatch(booker: &Arc<Booker>, message: OwnedMessage) {
            let booker = booker.clone();
            tokio::spawn(async move {
                if let Err(err) = booker.book(message.payload()).await {
                    tracing::error!(%err, "booking failed");
                }
            });
        }
        """,
        6,
    ),
    bad(
        _HANDED,
        "javascript",
        """
        async function book(message) {
          await db.query('INSERT INTO t VALUES ($1)', [message.content]);
        }
        function dispatch(message) {
          book(message).catch((err) => log.error(err));
        }
        async function run(channel) {
          await channel.consume('bookings', (message) => {
            dispatch(message);
            channel.ack(message);
          });
        }
        """,
        9,
    ),
    bad(
        _HANDED,
        "java",
        """
        class Intake implements Runnable {
            public void run() {
                while (true) {
                    ConsumerRecords<String, byte[]> records = consumer.poll(Duration.ofSeconds(1));
                    bookAll(records);
                    consumer.commitSync(Duration.ofSeconds(10));
                }
            }

            private void bookAll(ConsumerRecords<String, byte[]> records) {
                for (ConsumerRecord<String, byte[]> record : records) {
                    workers.submit(() -> booker.bookOnce(record.key(), record.value()));
                }
            }
        }
        """,
        5,
    ),
    good(
        _HANDED,
        "java",
        """
        class Intake implements Runnable {
            public void run() {
                while (true) {
                    ConsumerRecords<String, byte[]> records = consumer.poll(Duration.ofSeconds(1));
                    bookAll(records);
                    consumer.commitSync(Duration.ofSeconds(10));
                }
            }

            private void bookAll(ConsumerRecords<String, byte[]> records) throws Exception {
                List<Future<?>> pending = new ArrayList<>(records.count());
                for (ConsumerRecord<String, byte[]> record : records) {
                    pending.add(workers.submit(() -> booker.bookOnce(record.key(), record.value())));
                }
                for (Future<?> booking : pending) {
                    booking.get(60, TimeUnit.SECONDS);
                }
            }
        }
        """,
    ),
    good(
        _HANDED,
        "java",
        """
        class Intake implements Runnable {
            public void run() {
                while (true) {
                    ConsumerRecords<String, byte[]> records = consumer.poll(Duration.ofSeconds(1));
                    bookAll(records);
                    consumer.commitSync(Duration.ofSeconds(10));
                }
            }

            private void bookAll(ConsumerRecords<String, byte[]> records) {
                for (ConsumerRecord<String, byte[]> record : records) {
                    booker.bookOnce(record.key(), record.value());
                    audit.submit(() -> trail.seen(record.key()));
                }
            }
        }
        """,
    ),
    bad(
        _LIMIT,
        "go",
        """
        package p

        import (
        	"context"
        	"errors"
        )

        func (s *Store) A(ctx context.Context, p Posting) error {
        	for {
        		err := s.tryPost(ctx, p)
        		if !errors.Is(err, ErrConflict) {
        			return err
        		}
        	}
        }

        func (s *Store) B(ctx context.Context, p Posting) (int, error) {
        	for {
        		n, err := s.tryPost(ctx, p)
        		if retryable(err) {
        			log.Printf("again: %v", err)
        			continue
        		}
        		return n, err
        	}
        }

        func (s *Store) C(ctx context.Context, p Posting) error {
        	for attempt := 1; ; attempt++ {
        		err := s.tryPost(ctx, p)
        		if !isSerializationFailure(err) {
        			return err
        		}
        		if attempt == 5 {
        			return err
        		}
        		time.Sleep(time.Duration(attempt) * time.Second)
        	}
        }

        func D() (*os.File, error) {
        	for {
        		f, err := os.OpenFile(randomName(), os.O_CREATE|os.O_EXCL, 0o600)
        		if os.IsExist(err) {
        			continue
        		}
        		return f, err
        	}
        }

        func (s *Store) E(ctx context.Context, p Posting) error {
        	for attempt := 0; attempt < 5; attempt++ {
        		err := s.tryPost(ctx, p)
        		if !isSerializationFailure(err) {
        			return err
        		}
        	}
        	return ErrGaveUp
        }

        func F(r *bufio.Reader) error {
        	for {
        		line, err := fetchLine(r)
        		if !process(err) {
        			return nil
        		}
        		handle(line)
        	}
        }
        """,
        9,
        18,
    ),
    bad(
        _SOCKET,
        "go",
        """
        package p

        import (
        	"context"
        	"encoding/json"
        	"net"
        	"time"
        )

        func A(ctx context.Context, addr string) (Reply, error) {
        	var reply Reply
        	d := net.Dialer{Timeout: time.Second}
        	conn, err := d.DialContext(ctx, "tcp", addr)
        	if err != nil {
        		return reply, err
        	}
        	defer conn.Close()
        	err = json.NewDecoder(conn).Decode(&reply)
        	return reply, err
        }

        func B(ctx context.Context, addr string) (string, error) {
        	conn, err := net.DialTimeout("tcp", addr, time.Second)
        	if err != nil {
        		return "", err
        	}
        	defer conn.Close()
        	return readReply(conn)
        }

        func readReply(r io.Reader) (string, error) {
        	buf := make([]byte, 64)
        	n, err := io.ReadFull(r, buf)
        	return string(buf[:n]), err
        }

        func C(ctx context.Context, addr string) (string, error) {
        	conn, err := net.DialTimeout("tcp", addr, time.Second)
        	if err != nil {
        		return "", err
        	}
        	defer conn.Close()
        	stop := context.AfterFunc(ctx, func() { conn.Close() })
        	defer stop()
        	return readReply(conn)
        }
        """,
        18,
        28,
    ),
    bad(
        _LIMIT,
        "rust",
        """
        async fn post(pool: &PgPool, p: &Posting) -> Result<(), sqlx::Error> {
            loop {
                match try_post(pool, p).await {
                    Err(err) if is_serialization_failure(&err) => continue,
                    other => return other,
                }
            }
        }
        """,
        2,
    ),
    good(
        _LIMIT,
        "rust",
        """
        async fn post(pool: &PgPool, p: &Posting) -> Result<(), sqlx::Error> {
            let mut attempt = 0;
            loop {
                match try_post(pool, p).await {
                    Err(err) if attempt < MAX_ATTEMPTS && is_serialization_failure(&err) => {
                        attempt += 1;
                        tokio::time::sleep(backoff(attempt)).await;
                    }
                    other => return other,
                }
            }
        }

        async fn post2(pool: &PgPool, p: &Posting) -> Result<(), sqlx::Error> {
            for attempt in 0..5 {
                match try_post(pool, p).await {
                    Err(err) if is_serialization_failure(&err) => tokio::time::sleep(Duration::from_millis(20 << attempt)).await,
                    other => return other,
                }
            }
            Err(sqlx::Error::PoolTimedOut)
        }

        async fn post3(pool: &PgPool, p: &Posting) -> Result<(), sqlx::Error> {
            let mut attempts = 0;
            loop {
                match try_post(pool, p).await {
                    Err(err) if is_serialization_failure(&err) => {
                        attempts += 1;
                        if attempts == 5 {
                            return Err(err);
                        }
                        tokio::time::sleep(Duration::from_millis(20 << attempts)).await;
                    }
                    other => return other,
                }
            }
        }
        """,
    ),
]
