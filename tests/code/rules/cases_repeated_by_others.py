"""Retries around clients that retry, keys that helpers pass on, and retries whose end stands elsewhere."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

NESTED = "nested-retries"
AGAIN = "retry-of-non-idempotent-call"
ENDLESS = "retry-without-limit"

CASES = [
    bad(
        NESTED,
        "python",
        """
        import time
        import boto3

        s3 = boto3.client("s3", config=Config(retries={"max_attempts": 8}))

        def put(key, body):
            for attempt in range(5):
                try:
                    return s3.put_object(Bucket="b", Key=key, Body=body)
                except ClientError:
                    time.sleep(2 ** attempt)
        """,
        7,
    ),
    good(
        NESTED,
        "python",
        """
        import time
        import boto3

        s3 = boto3.client("s3", config=Config(retries={"max_attempts": 1}))

        def put(key, body):
            for attempt in range(5):
                try:
                    return s3.put_object(Bucket="b", Key=key, Body=body)
                except ClientError:
                    time.sleep(2 ** attempt)
        """,
    ),
    good(
        NESTED,
        "python",
        """
        import time

        jobs = Queue("jobs", max_retries=5)

        def put(client, body):
            for attempt in range(5):
                try:
                    return client.post("/x", body)
                except IOError:
                    time.sleep(2 ** attempt)
        """,
    ),
    bad(
        NESTED,
        "go",
        """
        package meter

        func NewStore(cfg aws.Config) *Store {
        	db := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.RetryMaxAttempts = 8 })
        	return &Store{db: db}
        }

        func (s *Store) Put(ctx context.Context, in *dynamodb.PutItemInput) error {
        	var err error
        	for attempt := 0; attempt < 5; attempt++ {
        		if _, err = s.db.PutItem(ctx, in); err == nil {
        			return nil
        		}
        		time.Sleep(time.Duration(attempt) * time.Second)
        	}
        	return err
        }
        """,
        10,
    ),
    bad(
        NESTED,
        "java",
        """
        class Files {
            private final S3Client s3 = S3Client.builder().retryPolicy(p -> p.numRetries(6)).build();
            void put(PutObjectRequest request) throws InterruptedException {
                for (int attempt = 0; attempt < 5; attempt++) {
                    try { s3.putObject(request); return; }
                    catch (SdkException e) { Thread.sleep(100L << attempt); }
                }
                throw new IllegalStateException();
            }
        }
        """,
        4,
    ),
    bad(
        NESTED,
        "typescript",
        """
        const client = new Anthropic({ timeout: 30_000, maxRetries: 5 });
        async function ask(input: string) {
          for (let attempt = 1; attempt < 5; attempt++) {
            try {
              return await client.messages.create({ input });
            } catch (err) {
              await sleep(500 * 2 ** attempt);
            }
          }
        }
        """,
        3,
    ),
    bad(
        NESTED,
        "rust",
        """
        impl Upstream {
            fn new(client: Client) -> Self {
                let http = ClientBuilder::new(client)
                    .with(RetryTransientMiddleware::new_with_policy(policy))
                    .build();
                Self { http }
            }
            async fn embed(&self, input: &str) -> Result<Reply, Error> {
                let mut attempt = 1;
                loop {
                    match self.http.post(&self.url).body(input).send().await {
                        Ok(reply) => return Ok(reply),
                        Err(err) if attempt < 4 => {
                            sleep(Duration::from_millis(200 * attempt)).await;
                            attempt += 1;
                        }
                        Err(err) => return Err(err),
                    }
                }
            }
        }
        """,
        10,
    ),
    bad(
        AGAIN,
        "java",
        """
        class Tolls {
            ChargeId charge(Passage passage) throws Exception {
                Callable<Response> attempt = () -> http.send(request(passage, UUID.randomUUID()));
                return retry.executeCallable(attempt);
            }
            private HttpRequest request(Passage passage, UUID key) {
                return builder.header("Idempotency-Key", key.toString()).POST(body(passage)).build();
            }
        }
        """,
        3,
    ),
    good(
        AGAIN,
        "python",
        """
        import requests

        def headers(reference):
            return {"Idempotency-Key": reference}

        @shared_task(autoretry_for=(requests.Timeout,), max_retries=6)
        def pay(payout_id):
            requests.post(f"{URL}/transfers", json={"id": payout_id}, headers=headers(f"payout-{payout_id}"))
        """,
    ),
    bad(
        ENDLESS,
        "rust",
        """
        fn schedule() -> ExponentialBackoff {
            ExponentialBackoff { max_elapsed_time: None, ..ExponentialBackoff::default() }
        }
        async fn level(gauges: Gauges) -> Result<Level, Error> {
            backoff::future::retry(schedule(), || async { gauges.fetch().await }).await
        }
        """,
        5,
    ),
    bad(
        ENDLESS,
        "rust",
        """
        async fn upload(&self, item: &Item) -> Result<(), Error> {
            let mut delay = FIRST;
            loop {
                match self.http.put(&self.url).json(item).send().await {
                    Ok(response) if response.status().is_success() => return Ok(()),
                    Ok(response) => tracing::warn!(status = %response.status(), "not taken"),
                    Err(err) => tracing::warn!(%err, "not delivered"),
                }
                sleep(delay).await;
                delay = (delay * 2).min(MAX_DELAY);
            }
        }
        """,
        3,
    ),
    bad(
        ENDLESS,
        "typescript",
        """
        class Quotes {
          publish(quote: Quote): Promise<void> {
            return this.producer.send({ topic: 'quotes', messages: [quote] }).catch((err: Error) => {
              this.log.warn({ err }, 'not published');
              return this.publish(quote);
            });
          }
        }
        """,
        5,
    ),
    bad(
        ENDLESS,
        "java",
        """
        class Watchlist {
            int add(long id, String title) {
                while (true) {
                    try {
                        return transactions.execute(status -> append(id, title));
                    } catch (OptimisticLockingFailureException e) {
                        log.debug("changed meanwhile");
                    }
                }
            }
        }
        """,
        3,
    ),
]
