"""Findings about queries, transactions and messages are shown by default only where the text proves them."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY, Finding

BY_ID = {rule.id: rule for rule in RULES}

SHOWN = [
    # The ids come from the request.
    ("FK-P004", "java", """
        @RestController
        class Plans {
            @PostMapping("/plans/export")
            List<Plan> export(@RequestBody List<Long> ids) {
                return ids.stream().map(id -> planRepository.findById(id)).toList();
            }
        }
        """),
    # A query with a page of 60.
    ("FK-P004", "typescript", """
        class Catalog {
          async page(at: number) {
            const found = await this.courseRepository.find({ take: 60, skip: at });
            const cards = [];
            for (const course of found) {
              cards.push(await this.teacherRepository.findOneBy({ id: course.teacherId }));
            }
            return cards;
          }
        }
        """),
    # Items of each kind ask.
    ("FK-P004", "csharp", """
        [ApiController]
        public class FailedController : ControllerBase {
            private readonly IMovieRepository _movieRepository;
            private readonly IAlbumRepository _albumRepository;

            [HttpGet("failed")]
            public async Task<List<Row>> Get() {
                var failed = await _db.Failed.ToListAsync();
                var rows = new List<Row>();
                foreach (var each in failed) {
                    if (each.Type == Kind.Movie) {
                        rows.Add(await _movieRepository.Find(each.Id));
                    }
                    if (each.Type == Kind.Album) {
                        rows.Add(await _albumRepository.Find(each.Id));
                    }
                }
                return rows;
            }
        }
        """),
    # A function of the text returns the query.
    ("FK-P027", "python", """
        class Line(models.Model):
            part = models.ForeignKey(Part, on_delete=models.CASCADE)

        class Board:
            def lines(self):
                return Line.objects.filter(board=self)

            def names(self):
                return [line.part.name for line in self.lines()]
        """),
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
    # What is kept depends on the request.
    ("FK-P012", "java", """
        class Users {
            List<User> named(String name) {
                return userRepository.findAll().stream().filter(user -> user.getName().equals(name)).toList();
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
    # The list is given, and no request is near.
    ("FK-P004", "python", """
        def plans(names):
            found = []
            for name in names:
                found.append(Plan.objects.get(name=name))
            return found
        """),
    ("FK-P004", "python", """
        def known(slugs):
            found = []
            for slug in slugs.split(","):
                found.append(Plan.objects.get(slug=slug))
            return found
        """),
    # A check before one change.
    ("FK-P004", "go", """
        func (m *Manager) checkRoutes(ctx context.Context, route Route) ([]Group, error) {
            routes, err := m.routeRepo.FindRoutes(ctx, route.Prefix)
            all := []Group{}
            for _, each := range routes {
                groups, err := m.groupRepo.FindGroups(ctx, each.GroupIDs)
                all = append(all, groups...)
            }
            return all, err
        }
        """),
    # Only items of one kind ask.
    ("FK-P004", "python", """
        @app.post("/answers")
        def answers(request):
            given = {}
            for question in Question.objects.filter(asked=True):
                if question.kind == Question.FILE:
                    given[question] = Upload.objects.get(id=question.upload_id)
            return given
        """),
    # A small limit.
    ("FK-P004", "typescript", """
        class Feed {
          async items(user: User) {
            const notes = await this.noteRepository.find({ where: { user }, take: 20 });
            const items = [];
            for (const note of notes) {
              items.push(await this.fileRepository.findBy({ noteId: note.id }));
            }
            return items;
          }
        }
        """),
    # Each round adds a row.
    ("FK-P004", "python", """
        @app.post("/bans")
        def ban(request):
            for name in request.form["names"].split():
                user = request.db.query(User).filter(User.name == name).first()
                request.db.add(Ban(user=user))
        """),
    # The chain ends with a write.
    ("FK-P004", "go", """
        func children(session *xorm.Session, name string) ([]*Group, error) {
            groups := []*Group{}
            err := session.Where("parent = ?", name).Find(&groups)
            for _, group := range groups {
                group.Parent = name
                _, err = session.ID(group.Id).Cols("parent").Update(group)
            }
            return groups, err
        }
        """),
    ("FK-P004", "python", """
        @app.post("/realms")
        def connect(request):
            for realm in Realm.objects.filter(server=None):
                Count.objects.filter(realm=realm, server=None).update(server=realm.server)
        """),
    # All at the same time, of a list that a caller gives.
    ("FK-P004", "javascript", """
        async function counts(req, res) {
            const all = await Promise.all(
                req.body.sets.map(async (set) => itemRepository.findOneBy({ set })),
            );
            res.json(all);
        }
        """),
    # The function returns other rows than those that it asks for.
    ("FK-P027", "python", """
        class Line(models.Model):
            part = models.ForeignKey("Part", on_delete=models.CASCADE)

        class Part(models.Model):
            def used_in(self):
                lines = Line.objects.filter(part=self).values("part_id")
                return {parts_by_id[each["part_id"]] for each in lines}

            def used_by(self):
                if Line.objects.filter(part=self).exists():
                    return self.known_parts
                return []

            def names(self):
                return [each.part.name for each in self.used_by()]
        """),
    # The method of the row changes it.
    ("FK-P027", "python", """
        class Line(models.Model):
            part = models.ForeignKey("Part", on_delete=models.CASCADE)

            def complete(self):
                self.part.take(1)

        def complete(order):
            for line in Line.objects.filter(order=order):
                line.complete()
        """),
    # The loop goes through a field that the caller gives.
    ("FK-P027", "python", """
        class PartForm:
            def __init__(self, **given):
                self.items = given.pop("items")
                self.units = Unit.objects.none()
                self.choices = [each.part.name for each in self.items]
        """),
    # The first round is the last one.
    ("FK-P027", "python", """
        def first(name):
            for app in App.objects.filter(name=name):
                hook = app.hooks.all()
                return send(hook)
        """),
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
    # Nearly all rows are kept.
    ("FK-P012", "java", """
        class Users {
            List<User> enabled(String name) {
                return userRepository.findAll().stream().filter(user -> user.isEnabled()).toList();
            }
        }
        """),
    # A job that asks another service for each row.
    ("FK-P012", "python", """
        @shared_task
        def bill(request):
            orders = Order.objects.all()
            for order in orders:
                billing_client.create_record(order.id)
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
    # The rows are read in a loop.
    ("FK-P022", "python", """
        def clean(request):
            results = request.db.scalars(select(Email)).all()
            for email in results:
                email.verified = False
            metrics.gauge("cleaned", len(results))
        """),
    # The text of the query has a limit.
    ("FK-P022", "python", """
        def is_known(cursor, name):
            query = "SELECT 1 FROM names WHERE name = %s LIMIT 1"
            cursor.execute(query, [name])
            found = cursor.fetchall()
            return len(found) > 0
        """),
    # The rows are those that the statement has changed.
    ("FK-P022", "python", """
        def move(cursor, name):
            cursor.execute("UPDATE names SET used = true WHERE name = %s RETURNING id", [name])
            moved = cursor.fetchall()
            return len(moved)
        """),
    # The rows are locked.
    ("FK-P022", "rust", """
        use diesel::prelude::*;
        async fn stalled(conn: &mut Conn) -> Result<usize> {
            let found: Vec<i32> = jobs::table.select(one()).for_update().skip_locked().load(conn).await?;
            Ok(found.len())
        }
        """),
    # The rows of one object.
    ("FK-P022", "python", """
        class Order(models.Model):
            def is_paid(self):
                return len(self.payments.all()) > 0
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
    # How long the list gets is not said.
    ("FK-P006", "java", """
        class Report {
            private final List<String> warnings = new ArrayList<>();
            void warn(String message) {
                if (!warnings.contains(message)) {
                    warnings.add(message);
                }
            }
        }
        """),
    # Each round downloads a file.
    ("FK-P006", "javascript", """
        const { Emoji } = require('./models');
        async function pack(res) {
            const emojis = await Emoji.findAll();
            const known = await Emoji.findAll();
            for (const emoji of emojis) {
                if (known.includes(emoji)) await download(emoji.url);
            }
        }
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
