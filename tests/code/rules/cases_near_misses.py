"""Correct code that stands close to a fault, beside the fault itself."""

# ruff: noqa: E501  (snippets of Go; lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_EXPRESSION = "catastrophic-expression"
_EVERY_CALLER = "loaded-by-every-caller"
_OVERLAP = "overlapping-runs"
_PER_OBJECT = "query-per-object"
_PER_ROW = "write-per-row"
_PARSE = "unguarded-parse"
_WORKER = "worker-ends-with-one-item"

CASES = [
    # \p{L} has no apostrophe and no dash, so that the separator is exclusive.
    good(_EXPRESSION, "typescript", "const name = /^\\p{L}+(?:[ '’-]\\p{L}+)*$/u;"),
    good(_EXPRESSION, "javascript", "const word = /^[\\p{L}\\p{M}]+(?:[\\p{Zs}\\p{P}]+[\\p{L}\\p{M}]+)*$/u;"),
    good(
        _EXPRESSION,
        "java",
        'class A { static final Pattern NAME = Pattern.compile("^(\\\\p{Lu}\\\\p{Ll}+\\\\p{Punct})*$"); }',
    ),
    bad(_EXPRESSION, "typescript", "const name = /^(\\p{L}+[ '’-]?)+$/u;", 1),
    bad(
        _EXPRESSION,
        "java",
        'class A { static final Pattern NAME = Pattern.compile("^(\\\\p{IsAlphabetic}+\\\\p{Blank}?)*$"); }',
        1,
    ),
    # The pairs of two currencies share the callers among them.
    good(
        _EVERY_CALLER,
        "csharp",
        """
        class FxRateClient(HttpClient http, IMemoryCache cache)
        {
            public async Task<decimal> GetMidAsync(string from, string to, CancellationToken ct)
            {
                var key = $"fx:{from}:{to}";
                if (cache.TryGetValue(key, out decimal mid)) return mid;
                var answer = await http.GetFromJsonAsync<RateAnswer>($"rates/{from}/{to}", ct);
                cache.Set(key, answer.Mid, TimeSpan.FromSeconds(30));
                return answer.Mid;
            }
        }
        """,
    ),
    bad(
        _EVERY_CALLER,
        "csharp",
        """
        class FxRateClient(HttpClient http, IMemoryCache cache)
        {
            public async Task<Rates> GetAsync(string market, CancellationToken ct)
            {
                var key = $"fx:{market}";
                if (cache.TryGetValue(key, out Rates rates)) return rates;
                var answer = await http.GetFromJsonAsync<Rates>($"rates/{market}", ct);
                cache.Set(key, answer, TimeSpan.FromSeconds(30));
                return answer;
            }
        }
        """,
        8,
    ),
    # One request whose limit is shorter than the period.
    good(
        _OVERLAP,
        "javascript",
        """
        const EVERY_MS = 4 * 60 * 1000;
        class TokenKeeper {
          start() {
            this.timer = setInterval(async () => {
              try { await this.refresh(); } catch (err) { log.error(err); }
            }, EVERY_MS);
          }
          async refresh() {
            const { data } = await axios.post(this.url, body, { auth: this.auth, timeout: 5000 });
            this.token = data.access_token;
          }
        }
        """,
    ),
    good(
        _OVERLAP,
        "typescript",
        """
        const api = axios.create({ baseURL: 'https://rates.example.org', timeout: 4000 });
        setInterval(async () => { rates = (await api.get('/rates')).data; }, 60_000);
        """,
    ),
    bad(
        _OVERLAP,
        "javascript",
        """
        setInterval(async () => {
          for (const meter of meters) store(await axios.get(meter.url, { timeout: 5000 }));
        }, 60_000);
        """,
        1,
    ),
    bad(
        _OVERLAP,
        "javascript",
        """
        setInterval(async () => {
          const { data } = await axios.get('https://rates.example.org', { timeout: 5000 });
          await db.query('UPDATE rates SET data = $1', [data]);
        }, 6_000);
        """,
        1,
    ),
    # The query of the root runs once; the class has the name of a map of resolvers.
    good(
        _PER_OBJECT,
        "typescript",
        """
        import { Args, Int, Query, Resolver } from '@nestjs/graphql';
        @Resolver(() => Course)
        export class CourseResolver {
          constructor(@InjectRepository(Course) private readonly courses: Repository<Course>) {}
          @Query(() => [Course])
          async list(@Args('after', { type: () => Int }) after: number, @Args('first') first: number) {
            return this.courses.find({ where: { number: MoreThan(after) }, take: Math.min(first, 100) });
          }
        }
        """,
    ),
    # Each row is stored with what another service did for it.
    good(
        _PER_ROW,
        "javascript",
        """
        const { pool } = require('./db');
        async function refundTicket(ticket) {
          await payments.refund(ticket.payment_ref, { idempotencyKey: `refund-${ticket.id}` });
          await pool.query('UPDATE tickets SET refunded_at = now() WHERE id = $1', [ticket.id]);
        }
        async function refundEvent(eventId) {
          const { rows } = await pool.query('SELECT id FROM tickets WHERE event_id = $1 LIMIT 200', [eventId]);
          for (const ticket of rows) await refundTicket(ticket);
        }
        """,
    ),
    bad(
        _PER_ROW,
        "javascript",
        """
        const { pool } = require('./db');
        async function close(ticket) {
          await pool.query('UPDATE tickets SET closed_at = now() WHERE id = $1', [ticket.id]);
        }
        async function closeEvent(eventId) {
          const { rows } = await pool.query('SELECT id FROM tickets WHERE event_id = $1 LIMIT 200', [eventId]);
          for (const ticket of rows) await close(ticket);
        }
        """,
        7,
    ),
    # kafkajs awaits the handler, and does not commit what failed.
    good(
        _PARSE,
        "javascript",
        """
        await consumer.run({
          eachMessage: async ({ message }) => {
            const { eventId } = JSON.parse(message.value.toString());
            await refundEvent(eventId);
          },
        });
        """,
    ),
    bad(
        _PARSE,
        "javascript",
        """
        socket.on('message', (message) => {
          const { eventId } = JSON.parse(message.toString());
          refundEvent(eventId);
        });
        """,
        2,
    ),
    # What is there is taken without an exception, and the work catches its own.
    good(
        _WORKER,
        "kotlin",
        """
        class LoadBuffer(private val table: LoadTable) {
            private val pending = Channel<LoadSample>(20_000)
            fun start(scope: CoroutineScope) {
                scope.launch {
                    for (first in pending) {
                        store(nextBatch(first))
                    }
                }
            }
            private fun nextBatch(first: LoadSample): List<LoadSample> = buildList {
                add(first)
                while (size < 500) {
                    add(pending.tryReceive().getOrNull() ?: break)
                }
            }
            private suspend fun store(batch: List<LoadSample>) {
                try {
                    withContext(Dispatchers.IO) { table.insert(batch) }
                } catch (e: SQLException) {
                    log.warn("not stored", e)
                }
            }
        }
        """,
    ),
    bad(
        _WORKER,
        "kotlin",
        """
        class LoadBuffer(private val table: LoadTable) {
            private val pending = Channel<LoadSample>(20_000)
            fun start(scope: CoroutineScope) {
                scope.launch {
                    for (first in pending) {
                        table.insert(first)
                    }
                }
            }
        }
        """,
        6,
    ),
]
