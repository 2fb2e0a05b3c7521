"""Findings about queries and lists are shown by default only where the text proves them."""

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
    # What is kept depends on the request.
    ("FK-P012", "java", """
        class Users {
            List<User> named(String name) {
                return userRepository.findAll().stream().filter(user -> user.getName().equals(name)).toList();
            }
        }
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
]  # fmt: skip


@pytest.mark.parametrize(("rule", "language", "code"), SHOWN)
def test_what_the_text_proves_is_shown(rule: str, language: str, code: str) -> None:
    assert any(each.confidence >= LIKELY for each in _found(rule, language, code))


@pytest.mark.parametrize(("rule", "language", "code"), HIDDEN)
def test_what_the_text_does_not_prove_is_not_shown(rule: str, language: str, code: str) -> None:
    assert [each.message for each in _found(rule, language, code) if each.confidence >= LIKELY] == []


def _found(rule: str, language: str, code: str) -> tuple[Finding, ...]:
    return findings_of(dedent(code), language, rules=(BY_ID[rule],))
