"""Findings about transactions, messages and pages are shown by default only where the text proves them."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY, Finding

BY_ID = {rule.id: rule for rule in RULES}

SHOWN = [
    # A schema whose field the same file gives to a query.
    ("FK-R135", "typescript", """
        const schema = z.object({ page: z.coerce.number(), limit: z.coerce.number().default(500) });
        export async function GET(request: Request) {
          const { limit } = schema.parse(request.query);
          return json(await listMetrics({ limit }));
        }
        """),
    ("FK-R082", "java", """
        import org.springframework.kafka.core.KafkaTemplate;
        class Rules {
            private final KafkaTemplate<String, String> events;
            private final RuleRepository rules;
            void add(Rule rule) {
                rules.save(rule);
                events.send("rules", rule.id());
            }
        }
        """),
    ("FK-R076", "typescript", """
        import { Worker } from 'bullmq';
        new Worker('imports', async (job) => {
          try {
            await follow(job.data.line);
          } catch (error) {
            logger.error(`failed: ${error}`);
          }
        });
        """),
]  # fmt: skip

HIDDEN = [
    # Without a limit, everything is returned as well.
    ("FK-R135", "csharp", """
        [ApiController]
        public class HistoryController : ControllerBase {
            [HttpGet("history")]
            public List<Entry> Get(int plan, int? limit = null) {
                if (limit.HasValue) {
                    return _history.Of(plan).Take(limit.Value).ToList();
                }
                return _history.Of(plan).ToList();
            }
        }
        """),
    ("FK-R135", "csharp", """
        [ApiController]
        public class SearchController : ControllerBase {
            [HttpGet("search")]
            public async Task<Page> Search(string q, int? take = null) {
                var page = await providers.GetPage(q, take);
                if (take is not null)
                    page.Items = page.Items.Take(take.Value).ToList();
                return page;
            }
        }
        """),
    # Settings of a producer.
    ("FK-R135", "go", """
        type KafkaArgs struct {
            BatchSize int `json:"batchSize"`
        }
        func NewTarget(args KafkaArgs) *Target {
            return &Target{batch: store.NewBatch(store.Limit(args.BatchSize))}
        }
        """),
    # A schema that another file reads.
    ("FK-R135", "typescript", """
        export const QuerySchema = z.object({ query: z.string(), offset: z.number(), limit: z.number() });
        """),
    # A store of another file gets the size, and may refuse it.
    ("FK-R135", "python", """
        @router.get("/servers")
        def servers(max_results: int = Query(100), page_token: str | None = Query(None)):
            return get_store().search_servers(max_results=max_results, page_token=page_token)
        """),
    # A publisher of one's own program, which may call functions of the same process.
    ("FK-R082", "java", """
        import org.acme.admin.listener.RuleEventPublisher;
        class Rules {
            private final RuleEventPublisher ruleEventPublisher;
            private final RuleRepository rules;
            void add(Rule rule) {
                rules.save(rule);
                ruleEventPublisher.publish(rule.id());
            }
        }
        """),
    ("FK-R082", "java", """
        import org.acme.admin.listener.RuleEventPublisher;
        class Rules {
            private final RuleEventPublisher ruleEventPublisher;
            private final RuleRepository rules;
            @Transactional
            public void store(Rule rule) {
                create(rule);
            }
            private void create(Rule rule) {
                rules.save(rule);
                ruleEventPublisher.publish(rule.id());
            }
        }
        """),
    # Ends a subscription, not a message.
    ("FK-R056", "csharp", """
        class Reader {
            public async Task CompleteAsync() {
                await eventSubscription.CompleteAsync();
                await parseQueue.FlushAsync();
            }
        }
        """),
    # A list of functions.
    ("FK-R056", "typescript", """
        const offsets = (client: Client) => ({
          store: storeOffset(client),
          drop: dropOffset(client),
        });
        """),
    # What follows has nothing to do with the message.
    ("FK-R056", "java", """
        class Revive {
            void skip(Records records) {
                offsets.commitOffset(group, topic, records.next());
                metrics.increase();
            }
        }
        """),
    # The function that it is given does the work before.
    ("FK-R056", "python", """
        from collections.abc import Callable
        def consume(channel, callback: Callable[[list], None]):
            events = []
            for method, _, body in channel.consume("orders"):
                events.append(body)
                if len(events) >= 10:
                    callback(events)
                    channel.basic_ack(method.delivery_tag, multiple=True)
                    events = []
        """),
    # A queue that the broker makes for one consumer.
    ("FK-R056", "go", """
        func listen(ch *amqp.Channel) (<-chan amqp.Delivery, error) {
            q, err := ch.QueueDeclare("", false, true, true, false, nil)
            if err != nil {
                return nil, err
            }
            return ch.Consume(q.Name, "", true, false, false, false, nil)
        }
        """),
    # The sender may write a row of the same database.
    ("FK-R054", "java", """
        class Releases {
            private final MessageSender messageSender;
            private final ReleaseRepository releases;
            @Transactional
            public void publish(Release release) {
                releases.save(release);
                messageSender.sendMessage(release.key(), "releases");
            }
        }
        """),
    # A row that is named after something remote.
    ("FK-R054", "python", """
        from billing.models import RemoteRealm
        class Session:
            def __init__(self, remote_realm: RemoteRealm):
                self.remote_realm = remote_realm

            def deactivate(self):
                with transaction.atomic():
                    self.remote_realm.plan = 0
                    self.remote_realm.save(update_fields=["plan"])
        """),
    # Nothing asks the database.
    ("FK-R054", "java", """
        class Images {
            private final HttpClient client;
            @Transactional
            public byte[] image(HttpRequest request) throws Exception {
                return client.send(request, BodyHandlers.ofByteArray()).body();
            }
        }
        """),
    # A task without a message, which a schedule starts again.
    ("FK-R076", "python", """
        from celery import shared_task
        @shared_task(name="totals")
        def totals():
            try:
                call_command("totals")
            except Exception as error:
                log.error("totals failed: %s", error)
        """),
    # The level of the log says that such failures are expected.
    ("FK-R076", "typescript", """
        import { Worker } from 'bullmq';
        new Worker('imports', async (job) => {
          try {
            await follow(job.data.line);
          } catch (error) {
            logger.warn(`skipped: ${error}`);
          }
        });
        """),
    # The connection of the transaction.
    ("FK-R075", "go", """
        func open(ctx context.Context, pool *sql.DB) error {
            conn, err := pool.Conn(ctx)
            tx, err := conn.BeginTx(ctx, nil)
            if _, err := conn.ExecContext(ctx, "PRAGMA foreign_key_check"); err != nil {
                return err
            }
            return tx.Commit()
        }
        """),
    # One text, one connection.
    ("FK-R075", "javascript", """
        async function upgrade(pool) {
            await pool.query('BEGIN; CREATE TABLE a (id int); COMMIT;');
        }
        """),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "language", "code"), SHOWN)
def test_what_the_text_proves_is_shown(rule: str, language: str, code: str) -> None:
    assert any(each.confidence >= LIKELY for each in _found(rule, language, code))


@pytest.mark.parametrize(("rule", "language", "code"), HIDDEN)
def test_what_the_text_does_not_prove_is_not_shown(rule: str, language: str, code: str) -> None:
    assert [each.message for each in _found(rule, language, code) if each.confidence >= LIKELY] == []


def _found(rule: str, language: str, code: str) -> tuple[Finding, ...]:
    return findings_of(dedent(code), language, rules=(BY_ID[rule],))
