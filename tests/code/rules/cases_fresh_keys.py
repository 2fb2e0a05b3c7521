"""Keys against repetition that every try makes anew, and keys that stay."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

AGAIN = "retry-of-non-idempotent-call"

CASES = [
    bad(
        AGAIN,
        "go",
        """
        package pay

        import (
        	"context"
        	"net/http"

        	"github.com/google/uuid"
        )

        func (c *Client) Charge(ctx context.Context, body []byte) error {
        	var last error
        	for attempt := 0; attempt < 4; attempt++ {
        		key := uuid.NewString()
        		if last = c.send(ctx, key, body); last == nil {
        			return nil
        		}
        	}
        	return last
        }

        func (c *Client) send(ctx context.Context, key string, body []byte) error {
        	req, err := c.request(ctx, http.MethodPost, body)
        	if err != nil {
        		return err
        	}
        	req.Header.Set("Idempotency-Key", key)
        	_, err = c.http.Do(req)
        	return err
        }
        """,
        13,
    ),
    good(
        AGAIN,
        "go",
        """
        package pay

        import (
        	"context"
        	"net/http"

        	"github.com/google/uuid"
        )

        func (c *Client) Charge(ctx context.Context, body []byte) error {
        	key := uuid.NewString()
        	var last error
        	for attempt := 0; attempt < 4; attempt++ {
        		if last = c.send(ctx, key, body); last == nil {
        			return nil
        		}
        	}
        	return last
        }

        func (c *Client) send(ctx context.Context, key string, body []byte) error {
        	req, err := c.request(ctx, http.MethodPost, body)
        	if err != nil {
        		return err
        	}
        	req.Header.Set("Idempotency-Key", key)
        	_, err = c.http.Do(req)
        	return err
        }
        """,
    ),
    bad(
        AGAIN,
        "java",
        """
        class Charges {
            Receipt refund(Order order) {
                return retry.executeSupplier(() -> send(order, newKey()));
            }
            private Receipt send(Order order, String key) {
                return http.post().uri("/refunds").header("Idempotency-Key", key).body(order).retrieve();
            }
            private static String newKey() {
                return UUID.randomUUID().toString();
            }
        }
        """,
        3,
    ),
    bad(
        AGAIN,
        "typescript",
        """
        import pRetry from 'p-retry';
        import { randomUUID } from 'node:crypto';
        export class Payouts {
          async pay(payout: Payout) {
            return pRetry(() => this.post(payout), { retries: 4 });
          }
          private async post(payout: Payout) {
            const headers = { 'Idempotency-Key': randomUUID() };
            return this.http.post('/payouts', payout, { headers });
          }
        }
        """,
        8,
    ),
    good(
        AGAIN,
        "typescript",
        """
        import pRetry from 'p-retry';
        import { randomUUID } from 'node:crypto';
        export class Payouts {
          async pay(payout: Payout) {
            const key = payout.key ?? randomUUID();
            return pRetry(() => this.post(payout, key), { retries: 4 });
          }
          private async post(payout: Payout, key: string) {
            const headers = { 'Idempotency-Key': key };
            return this.http.post('/payouts', payout, { headers });
          }
        }
        """,
    ),
    bad(
        AGAIN,
        "javascript",
        """
        const axiosRetry = require('axios-retry');
        const { v4 } = require('uuid');
        const client = axios.create({ baseURL, timeout: 3000 });
        axiosRetry(client, { retries: 3, retryDelay: axiosRetry.exponentialDelay, retryCondition: canRetry });
        client.interceptors.request.use((config) => {
          config.headers['Idempotency-Key'] = v4();
          return config;
        });
        """,
        6,
    ),
    bad(
        AGAIN,
        "kotlin",
        """
        class Transfers(private val client: HttpClient) {
            suspend fun transfer(order: Transfer): Receipt {
                var last: Exception? = null
                repeat(3) { attempt ->
                    try {
                        return client.post("/transfers") {
                            header("Idempotency-Key", UUID.randomUUID().toString())
                            setBody(order)
                        }.body()
                    } catch (e: IOException) {
                        last = e
                        delay(200L shl attempt)
                    }
                }
                throw last!!
            }
        }
        """,
        7,
    ),
    bad(
        AGAIN,
        "rust",
        """
        async fn pay(client: &reqwest::Client, order: &Order) -> Result<Receipt, Error> {
            let mut attempt = 0;
            loop {
                let key = Uuid::new_v4().to_string();
                let sent = client.post(URL).header("Idempotency-Key", key).json(order).send().await;
                match sent {
                    Ok(answer) => return Ok(answer.json().await?),
                    Err(error) if attempt < 3 => {
                        attempt += 1;
                        sleep(Duration::from_millis(200 << attempt)).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        """,
        4,
    ),
    good(
        AGAIN,
        "rust",
        """
        async fn pay(client: &reqwest::Client, order: &Order) -> Result<Receipt, Error> {
            let key = Uuid::new_v4().to_string();
            let mut attempt = 0;
            loop {
                let sent = client.post(URL).header("Idempotency-Key", &key).json(order).send().await;
                match sent {
                    Ok(answer) => return Ok(answer.json().await?),
                    Err(error) if attempt < 3 => {
                        attempt += 1;
                        sleep(Duration::from_millis(200 << attempt)).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        """,
    ),
    bad(
        AGAIN,
        "csharp",
        """
        public class IdempotencyHandler : DelegatingHandler
        {
            protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, Token ct)
            {
                request.Headers.TryAddWithoutValidation("Idempotency-Key", Guid.NewGuid().ToString());
                return base.SendAsync(request, ct);
            }
        }
        public static class Setup
        {
            public static void Add(IServiceCollection services) =>
                services.AddHttpClient<Payments>().AddPolicyHandler(Retries()).AddHttpMessageHandler<IdempotencyHandler>();
        }
        """,
        5,
    ),
    good(
        AGAIN,
        "csharp",
        """
        public class IdempotencyHandler : DelegatingHandler
        {
            protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, Token ct)
            {
                request.Headers.TryAddWithoutValidation("Idempotency-Key", Guid.NewGuid().ToString());
                return base.SendAsync(request, ct);
            }
        }
        public static class Setup
        {
            public static void Add(IServiceCollection services) =>
                services.AddHttpClient<Payments>().AddHttpMessageHandler<IdempotencyHandler>().AddPolicyHandler(Retries());
        }
        """,
    ),
    bad(
        AGAIN,
        "python",
        """
        import time
        import httpx
        def order(client, item):
            for attempt in range(3):
                try:
                    headers = {"Idempotency-Key": f"{item.id}-{attempt}"}
                    return client.post("https://s.example/orders", json=item.body, headers=headers)
                except httpx.TransportError:
                    time.sleep(2**attempt)
            raise Failed()
        """,
        6,
    ),
    bad(
        AGAIN,
        "python",
        """
        import uuid
        from celery import shared_task
        @shared_task(bind=True, max_retries=5)
        def pay(self, payout_id):
            payout = load(payout_id)
            try:
                bank.transfer(payout.account, payout.amount, idempotency_key=str(uuid.uuid4()))
            except BankError as error:
                raise self.retry(exc=error, countdown=30)
        """,
        7,
    ),
    good(
        AGAIN,
        "python",
        """
        import uuid
        from celery import shared_task
        @shared_task(bind=True, max_retries=5)
        def pay(self, payout_id):
            payout = load(payout_id)
            if payout.idempotency_key is None:
                payout.idempotency_key = str(uuid.uuid4())
                payout.save()
            try:
                bank.transfer(payout.account, payout.amount, idempotency_key=payout.idempotency_key)
            except BankError as error:
                raise self.retry(exc=error, countdown=30)
        """,
    ),
    # A request that never left may be sent again.
    good(
        AGAIN,
        "python",
        """
        import httpx
        from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential
        class Orders:
            @retry(
                retry=retry_if_exception_type((httpx.ConnectError, httpx.PoolTimeout)),
                stop=stop_after_attempt(3),
                wait=wait_exponential(),
            )
            def place(self, order):
                return httpx.post("https://s.example/v3/things", json=order)
        """,
    ),
    bad(
        AGAIN,
        "python",
        """
        import httpx
        from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential
        class Orders:
            @retry(
                retry=retry_if_exception_type(httpx.TransportError),
                stop=stop_after_attempt(3),
                wait=wait_exponential(),
            )
            def place(self, order):
                return httpx.post("https://s.example/v3/things", json=order)
        """,
        10,
    ),
    good(
        AGAIN,
        "javascript",
        """
        async function place(order) {
          for (let attempt = 0; attempt < 3; attempt++) {
            try {
              return await axios.post(url, order, { timeout: 3000 });
            } catch (err) {
              if (err.code !== 'ECONNREFUSED') throw err;
              await sleep(100 * 2 ** attempt);
            }
          }
        }
        """,
    ),
    good(
        AGAIN,
        "rust",
        """
        async fn place(client: &reqwest::Client, order: &Order) -> Result<Receipt, Error> {
            let mut attempt = 0;
            loop {
                match client.post(URL).json(order).send().await {
                    Ok(answer) => return Ok(answer.json().await?),
                    Err(error) if error.is_connect() && attempt < 3 => {
                        attempt += 1;
                        sleep(Duration::from_millis(200 << attempt)).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        """,
    ),
    good(
        "missing-idempotency-key",
        "python",
        """
        import httpx
        def place(order):
            return httpx.post("https://s.example/orders", json={"clientReference": order.ref}, timeout=3)
        """,
    ),
    bad(
        AGAIN,
        "java",
        """
        class Transfers {
            @Retry(name = "bank")
            Receipt transfer(Transfer t) {
                return client.post("/transfers", new Body(1, UUID.randomUUID().toString()), R);
            }
            record Body(long amount, String idempotencyKey) {}
        }
        """,
        4,
    ),
    good(
        AGAIN,
        "java",
        """
        class Transfers {
            @Retry(name = "bank")
            Receipt transfer(Transfer t) {
                return client.post("/transfers", new Body(t.amount(), t.key()), Receipt.class);
            }
            record Body(long amount, String idempotencyKey) {}
        }
        """,
    ),
    bad(
        AGAIN,
        "rust",
        """
        impl Client {
            pub async fn pay(&self, order: &Order) -> Result<Receipt> {
                let send = || async {
                    let body = Body { idempotency_key: Uuid::new_v4(), amount: order.amount };
                    self.http.post(&self.url).json(&body).send().await
                };
                send.retry(ExponentialBuilder::default()).await
            }
        }
        """,
        4,
    ),
]
