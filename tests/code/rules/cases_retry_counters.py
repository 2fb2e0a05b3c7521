"""Counters of tries that do not count, pauses that do not grow, and operators of streams that try again."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

LIMIT = "retry-without-limit"
PAUSE = "retry-without-backoff"

CASES = [
    bad(
        LIMIT,
        "javascript",
        """
        async function push(item, attempt = 1) {
          try {
            await api.put(`/items/${item.id}`, item);
          } catch (err) {
            if (attempt >= MAX_ATTEMPTS) throw err;
            await sleep(delayFor(attempt));
            await push(item, attempt++);
          }
        }
        """,
        7,
    ),
    good(
        LIMIT,
        "javascript",
        """
        async function push(item, attempt = 1) {
          try {
            await api.put(`/items/${item.id}`, item);
          } catch (err) {
            if (attempt >= MAX_ATTEMPTS) throw err;
            await sleep(delayFor(attempt));
            await push(item, attempt + 1);
          }
        }
        """,
    ),
    bad(
        LIMIT,
        "python",
        """
        class Api:
            def get(self, path, attempt=0):
                answer = self.session.get(path, timeout=3)
                if answer.status_code >= 500 and attempt < 5:
                    time.sleep(2**attempt)
                    return self.get(path, attempt)
                return answer
        """,
        6,
    ),
    bad(
        LIMIT,
        "go",
        """
        package feed

        func (c *Client) Load(ctx context.Context, id string, attempt int) (*Item, error) {
        	item, err := c.fetch(ctx, id)
        	if err != nil {
        		if attempt >= maxAttempts {
        			return nil, err
        		}
        		time.Sleep(backoff(attempt))
        		return c.Load(ctx, id, attempt)
        	}
        	return item, nil
        }
        """,
        10,
    ),
    good(
        LIMIT,
        "go",
        """
        package feed

        func (c *Client) Load(ctx context.Context, id string, attempt int) (*Item, error) {
        	item, err := c.fetch(ctx, id)
        	if err != nil {
        		if attempt >= maxAttempts {
        			return nil, err
        		}
        		time.Sleep(backoff(attempt))
        		return c.Load(ctx, id, attempt+1)
        	}
        	return item, nil
        }
        """,
    ),
    bad(
        LIMIT,
        "java",
        """
        class Sync {
            Answer ask(Request request, int attempt) {
                try {
                    return client.send(request);
                } catch (IOException e) {
                    if (attempt > 4) throw new Failed(e);
                    return ask(request, attempt++);
                }
            }
        }
        """,
        7,
    ),
    # A counter that nothing raises, on the way to the next try.
    bad(
        LIMIT,
        "python",
        """
        def load(url):
            attempts = 0
            while attempts < 5:
                try:
                    return fetch(url)
                except OSError:
                    time.sleep(1)
        """,
        3,
    ),
    bad(
        LIMIT,
        "typescript",
        """
        async function load(url: string) {
          let attempt = 0;
          while (attempt < MAX) {
            try {
              return await api.load(url);
            } catch (err) {
              if (isTransient(err)) {
                await sleep(500);
                continue;
              }
            }
            attempt++;
          }
          throw new Error('gave up');
        }
        """,
        9,
    ),
    bad(
        LIMIT,
        "csharp",
        """
        public class Sender
        {
            public async Task SendAsync(Message message)
            {
                while (true)
                {
                    var attempt = 0;
                    try
                    {
                        await _client.SendAsync(message);
                        return;
                    }
                    catch (HttpRequestException)
                    {
                        attempt++;
                        if (attempt >= 5) throw;
                        await Task.Delay(1000 * attempt);
                    }
                }
            }
        }
        """,
        7,
    ),
    good(
        LIMIT,
        "csharp",
        """
        public class Sender
        {
            public async Task SendAsync(Message message)
            {
                var attempt = 0;
                while (true)
                {
                    try
                    {
                        await _client.SendAsync(message);
                        return;
                    }
                    catch (HttpRequestException)
                    {
                        attempt++;
                        if (attempt >= 5) throw;
                        await Task.Delay(1000 * attempt);
                    }
                }
            }
        }
        """,
    ),
    good(
        LIMIT,
        "python",
        """
        def drain(queue):
            for item in queue:
                attempt = 0
                while attempt < 5:
                    attempt += 1
                    try:
                        send(item)
                        break
                    except OSError:
                        time.sleep(attempt)
                        continue
        """,
    ),
    # Pauses that do not grow.
    bad(
        PAUSE,
        "javascript",
        """
        async function connect() {
          while (!stopped) {
            let delay = 500;
            try {
              await session.run();
            } catch (err) {
              await sleep(delay);
              delay = Math.min(delay * 2, 30_000);
            }
          }
        }
        """,
        3,
    ),
    good(
        PAUSE,
        "javascript",
        """
        async function connect() {
          let delay = 500;
          while (!stopped) {
            try {
              await session.run();
              delay = 500;
            } catch (err) {
              await sleep(delay);
              delay = Math.min(delay * 2, 30_000);
            }
          }
        }
        """,
    ),
    bad(
        PAUSE,
        "go",
        """
        package feed

        func load(ctx context.Context) error {
        	var err error
        	for attempt := 0; attempt < 5; attempt++ {
        		if err = fetch(ctx); err == nil {
        			return nil
        		}
        		time.Sleep(time.Duration(2^attempt) * time.Second)
        	}
        	return err
        }
        """,
        9,
    ),
    # Operators of streams.
    bad(
        LIMIT,
        "kotlin",
        """
        import kotlinx.coroutines.flow.Flow
        import kotlinx.coroutines.flow.retry
        class Feed(private val client: Client) {
            fun updates(): Flow<Update> = client.stream()
                .retry { cause -> cause is IOException }
        }
        """,
        5,
    ),
    good(
        LIMIT,
        "kotlin",
        """
        import kotlinx.coroutines.flow.Flow
        import kotlinx.coroutines.flow.retry
        class Feed(private val client: Client) {
            fun updates(): Flow<Update> = client.stream()
                .retry { cause ->
                    delay(Random.nextLong(1_000, 5_000))
                    cause is IOException
                }
        }
        """,
    ),
    bad(
        LIMIT,
        "kotlin",
        """
        import kotlinx.coroutines.flow.Flow
        import kotlinx.coroutines.flow.retryWhen
        fun updates(client: Client): Flow<Update> =
            client.stream().retryWhen { cause, _ -> cause is IOException }
        """,
        4,
    ),
    bad(
        PAUSE,
        "kotlin",
        """
        import kotlinx.coroutines.flow.Flow
        import kotlinx.coroutines.flow.retryWhen
        fun updates(client: Client): Flow<Update> =
            client.stream().retryWhen { cause, attempt -> cause is IOException && attempt < 8 }
        """,
        4,
    ),
    good(
        PAUSE,
        "kotlin",
        """
        import kotlinx.coroutines.flow.Flow
        import kotlinx.coroutines.flow.retryWhen
        fun updates(client: Client): Flow<Update> =
            client.stream().retryWhen { cause, attempt ->
                if (cause !is IOException || attempt > 8) return@retryWhen false
                delay(500L shl attempt.toInt())
                true
            }
        """,
    ),
    bad(
        LIMIT,
        "typescript",
        """
        import { retry, switchMap } from 'rxjs';
        export const prices$ = tick$.pipe(switchMap(() => http.get('/prices')), retry());
        """,
        2,
    ),
    good(
        LIMIT,
        "typescript",
        """
        import { retry, switchMap } from 'rxjs';
        const again = retry({ count: 5, delay: backoff });
        export const prices$ = tick$.pipe(switchMap(() => http.get('/prices')), again);
        """,
    ),
    bad(
        LIMIT,
        "java",
        """
        import io.reactivex.rxjava3.core.Flowable;
        class Feed {
            void start() {
                client.updates().observeOn(worker).retry().subscribe(this::apply);
            }
        }
        """,
        4,
    ),
    bad(
        PAUSE,
        "python",
        """
        from retry import retry
        import requests
        @retry(requests.RequestException, tries=5)
        def load(url):
            return requests.get(url, timeout=3)
        """,
        3,
    ),
    good(
        PAUSE,
        "python",
        """
        from retry import retry
        import requests
        @retry(requests.RequestException, tries=5, delay=1, backoff=2)
        def load(url):
            return requests.get(url, timeout=3)
        """,
    ),
    # Policies that are told once.
    bad(
        PAUSE,
        "java",
        """
        class Feed {
            RetryPolicy<Object> policy = RetryPolicy.builder().withMaxRetries(9).build();
            RetryPolicy<Object> slow = RetryPolicy.builder().withDelay(SECOND).withMaxRetries(9).build();
            RetryTemplate template = RetryTemplate.builder().maxAttempts(9).build();
            RetryTemplate slower = RetryTemplate.builder().maxAttempts(9).exponentialBackoff(1, 2, 9).build();
        }
        """,
        2,
        4,
    ),
    bad(
        LIMIT,
        "java",
        """
        class Feed {
            Retryer<Item> retryer = RetryerBuilder.<Item>newBuilder().retryIfException().build();
            Retryer<Item> limited = RetryerBuilder.<Item>newBuilder().withStopStrategy(stop).build();
            BackOff blocking = new FixedBackOff(1000L, FixedBackOff.UNLIMITED_ATTEMPTS);
            BackOff few = new FixedBackOff(1000L, 3);
            Uni<Item> load() { return client.get().onFailure().retry().indefinitely(); }
        }
        """,
        2,
        4,
        6,
    ),
    bad(
        LIMIT,
        "go",
        """
        package feed

        import "github.com/cenkalti/backoff/v4"

        func run(connect backoff.Operation) error {
        	b := backoff.NewExponentialBackOff()
        	b.MaxElapsedTime = 0
        	return backoff.Retry(connect, b)
        }

        func until(ctx context.Context, connect backoff.Operation) error {
        	c := backoff.NewExponentialBackOff()
        	c.MaxElapsedTime = 0
        	return backoff.Retry(connect, backoff.WithContext(c, ctx))
        }
        """,
        8,
    ),
    bad(
        LIMIT,
        "javascript",
        """
        import { retry, handleAll, ExponentialBackoff } from 'cockatiel';
        const endless = retry(handleAll, { backoff: new ExponentialBackoff() });
        const limited = retry(handleAll, { maxAttempts: 4, backoff: new ExponentialBackoff() });
        """,
        2,
    ),
    bad(
        PAUSE,
        "javascript",
        """
        const hasty = createClient({ url, socket: { reconnectStrategy: () => 0 } });
        const patient = createClient({ url, socket: { reconnectStrategy: (n) => Math.min(n * 100, 3000) } });
        """,
        1,
    ),
]
