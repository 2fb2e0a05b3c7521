"""Correct code that looks like a list, a body, a queue or a query of any size."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PER_ITEM = "call-per-item"
_MEMBER = "list-membership-in-loop"
_ROW = "write-per-row"
_BODY = "whole-body-loaded"
_TABLE = "whole-table-loaded"
_FILTERED = "filtered-after-loading"
_QUEUE = "unbounded-queue"
_FAN_OUT = "unbounded-fan-out"
_PAGE = "unbounded-page-size"
_GROWS = "growing-collection"
_COUNT = "count-by-loading"
_FILE = "whole-file-loaded"
_RELATION = "lazy-relation-in-loop"
_CACHE = "unbounded-cache"

CASES = [
    # The round that asks is the last one.
    good(
        _PER_ITEM,
        "python",
        """
        from app.models import Check, Flip

        def flips(request, check):
            return list(Flip.objects.filter(owner=check))

        def by_key(request, key):
            for check in Check.objects.filter(project=request.project):
                if check.unique_key == key:
                    return flips(request, check)
        """,
    ),
    bad(
        _PER_ITEM,
        "python",
        """
        from app.models import Check, Flip

        def flips(request, check):
            return list(Flip.objects.filter(owner=check))

        def by_key(request, key):
            found = []
            for check in Check.objects.filter(project=request.project):
                found += flips(request, check)
            return found
        """,
        9,
    ),
    # As many as a call has arguments.
    good(
        _PER_ITEM,
        "python",
        """
        def fill(self, session, **kwargs):
            for key, value in kwargs.items():
                found = session.execute(select(Row).filter_by(id=value)).scalars().one_or_none()
                setattr(self, key, found)
        """,
    ),
    # A few, by the name of the list; texts that are no keys.
    good(
        _MEMBER,
        "python",
        """
        def tools(messages, roles):
            wanted_roles = []
            for role in roles:
                wanted_roles.append(role.value)
            for message in messages:
                if message["role"] in wanted_roles:
                    yield message
        """,
    ),
    good(
        _MEMBER,
        "csharp",
        """
        class Movies {
            List<Movie> Find(List<Movie> candidates, List<string> otherTitles) {
                return candidates.Where(m => otherTitles.Contains(m.CleanTitle)).ToList();
            }
        }
        """,
    ),
    # The session sends the deletions with the commit.
    good(
        _ROW,
        "python",
        """
        def purge(limit):
            with session_context() as session:
                results = session.execute(select(Export).filter(Export.expires <= limit)).scalars().all()
                for result in results:
                    session.delete(result)
                session.commit()
        """,
    ),
    # Of the rows that one person has chosen on a page.
    good(
        _ROW,
        "python",
        """
        from django.contrib.admin import ModelAdmin

        class UserAdmin(ModelAdmin):
            def activate(self, request, users):
                for user in users:
                    user.is_active = True
                    user.save()
        """,
    ),
    # The whole is needed: a function is given all of it.
    good(
        _BODY,
        "python",
        """
        def serve(request, path):
            with path.open("r") as f:
                content = f.read()
            content = replace_placeholders(content)
            return render(request, {"content": content, "title": content.split("\\n")[0]})
        """,
    ),
    good(
        _BODY,
        "python",
        """
        import base64
        import io

        def store(encoded, temp_file):
            image = io.BytesIO(base64.b64decode(encoded))
            temp_file.write(image.read())
        """,
    ),
    # The text of another function has the same name.
    good(
        _TABLE,
        "csharp",
        """
        class Movies {
            int Count() {
                var sql = "SELECT Id FROM Movies";
                return Size(sql);
            }
            List<Movie> Tagged() {
                var sql = "SELECT * FROM Movies WHERE Tags IS NOT NULL";
                return conn.Query<Movie>(sql).ToList();
            }
        }
        """,
    ),
    bad(
        _TABLE,
        "csharp",
        """
        class Movies {
            List<Movie> Tagged() {
                var sql = "SELECT * FROM Movies WHERE Tags IS NOT NULL";
                return conn.Query<Movie>(sql).ToList();
            }
            List<Movie> All() {
                var sql = "SELECT * FROM Movies";
                return conn.Query<Movie>(sql).ToList();
            }
        }
        """,
        8,
    ),
    # The query is made of another one, whose conditions are elsewhere.
    good(
        _TABLE,
        "python",
        """
        def ids_of(self, query):
            only_ids = query.with_only_columns(self.model.id)
            return self.session.execute(only_ids).scalars().all()
        """,
    ),
    # A table of a few rows, which a page shows whole.
    good(
        _TABLE,
        "csharp",
        """
        app.MapGet("/types", async (CatalogContext context) =>
            await context.CatalogTypes.OrderBy(x => x.Type).ToListAsync());
        """,
    ),
    # Rows that are passed over are needed later, or by another round.
    good(
        _FILTERED,
        "csharp",
        """
        class Tasks {
            void Start(List<Job> wanted) {
                var current = _taskRepository.All().ToList();
                foreach (var job in current) {
                    if (!wanted.Any(c => c.Name == job.Name)) {
                        _taskRepository.Delete(job.Id);
                    }
                }
                foreach (var each in wanted) {
                    var known = current.SingleOrDefault(c => c.Name == each.Name);
                    Keep(known ?? each);
                }
            }
        }
        """,
    ),
    good(
        _FILTERED,
        "python",
        """
        def fix(session):
            labels = session.query(Label).all()
            for shopping_list in session.query(ShoppingList).filter_by(broken=True):
                mine = {label.id: label for label in labels if label.group_id == shopping_list.group_id}
                shopping_list.fix(mine)
        """,
    ),
    # Its size is compared with a limit.
    good(
        _QUEUE,
        "java",
        """
        import java.util.concurrent.DelayQueue;
        class Limiter {
            final DelayQueue<Suppression> suppressions = new DelayQueue<>();
            boolean shouldInvoke(String context) {
                if (suppressions.size() > cardinality) suppressions.poll();
                suppressions.offer(new Suppression(context));
                return true;
            }
        }
        """,
    ),
    # The pool of connections is the limit.
    good(
        _FAN_OUT,
        "typescript",
        """
        import { Model } from "sequelize";
        async function load(ids: string[]) {
          return await Promise.all(ids.map((id) => Collection.findByPk(id)));
        }
        """,
    ),
    bad(
        _FAN_OUT,
        "typescript",
        """
        async function load(ids: string[]) {
          return await Promise.all(ids.map((id) => fetch(`https://shop/${id}`)));
        }
        """,
        2,
    ),
    # The type of the request stands elsewhere, and may have a limit.
    good(
        _PAGE,
        "rust",
        """
        use axum::extract::Query;
        async fn list(Query(paging): Query<Paging>) -> Json<V> {
            let limit = paging.limit;
            Json(repo().orders(limit).await)
        }
        """,
    ),
    # A parser lives as long as its text; the object of a request as long as that.
    good(
        _GROWS,
        "python",
        """
        from html.parser import HTMLParser

        class TextParser(HTMLParser):
            def __init__(self):
                super().__init__()
                self.buf = []

            def handle_data(self, data):
                self.buf.append(data)
        """,
    ),
    good(
        _GROWS,
        "python",
        """
        class BulkService:
            def __init__(self, repos, group):
                self.report_entries = []

            def on_failed(self, message):
                self.report_entries.append(Entry(message))
        """,
    ),
    # A count neither groups nor locks rows.
    good(
        _COUNT,
        "typescript",
        """
        async function others(transaction) {
          const enabled = await Provider.findAll({ where: { enabled: true }, lock: transaction.LOCK.SHARE });
          return enabled.length > 0;
        }
        """,
    ),
    # A buffer that is returned is used elsewhere.
    good(
        _FILE,
        "python",
        """
        import io

        def buffered(path):
            with open(path, "rb") as f:
                content = f.read()
            buffer = io.BytesIO(content)
            buffer.name = path
            return buffer
        """,
    ),
    # A file, which no query loads.
    good(
        _RELATION,
        "typescript",
        """
        async function pack(zip) {
          const attachments = await Attachment.findAll({ where: { teamId } });
          for (const attachment of attachments) {
            zip.add(await attachment.buffer);
          }
        }
        """,
    ),
    # As many as an installation has callbacks.
    good(
        _CACHE,
        "python",
        """
        _CALLBACK_ACCEPTS = {}

        def accepts(callback_id):
            if callback_id not in _CALLBACK_ACCEPTS:
                _CALLBACK_ACCEPTS[callback_id] = inspect(callback_id)
            return _CALLBACK_ACCEPTS[callback_id]
        """,
    ),
    # A map that was made of rows asks no database.
    good(
        _PER_ITEM,
        "rust",
        """
        async fn pending(conn: &mut PgConnection) -> Result<()> {
            let mut rows = follower::table.load::<Row>(conn).await?;
            let by_id: HashMap<_, _> = instance::table.load::<Pair>(conn).await?.into_iter().collect();
            for row in &mut rows {
                let found = by_id.get(&row.id);
                row.is_new = found.is_none();
            }
            Ok(())
        }
        """,
    ),
    # Made for each request.
    good(
        _CACHE,
        "csharp",
        """
        public class SecurityTaskAuthorizationHandler : AuthorizationHandler<Requirement> {
            private readonly Dictionary<Guid, Permission> _permissionCache = new();
            private async Task<Permission> Load(Guid userId) {
                if (_permissionCache.TryGetValue(userId, out var known)) return known;
                var found = await _query.GetByUserAsync(userId);
                _permissionCache[userId] = found;
                return found;
            }
        }
        """,
    ),
    # The pool of connections is the limit here, too.
    good(
        _FAN_OUT,
        "csharp",
        """
        class Tde {
            async Task Load(List<User> users) {
                await Task.WhenAll(users.Select(async x => await _ssoUserRepository.GetByUserIdAsync(x.Id)));
            }
        }
        """,
    ),
    # The first candidate that works is sought.
    good(
        _PER_ITEM,
        "python",
        """
        async def team_of(user):
            for candidate_id in user.team_ids:
                team = await get_team_object(team_id=candidate_id)
                if not team.is_open:
                    continue
                return team
        """,
    ),
    # A copy is no sending.
    good(
        _GROWS,
        "python",
        """
        import copy

        class Router:
            def set_models(self, models):
                original = copy.deepcopy(self.models)
                self.models = []
                self.start(original)

            def add(self, model):
                self.models.append(model)
        """,
    ),
    # Lists that are short by their names.
    good(
        _MEMBER,
        "typescript",
        """
        async function assign(segmentIds: string[], items) {
          const currentSegmentIds = items.map((each) => each.id);
          return segmentIds.filter((id) => !currentSegmentIds.includes(id));
        }
        """,
    ),
    good(
        "nested-search",
        "typescript",
        """
        function link(events, segments) {
          events.forEach((event) => {
            event.segment = segments.find((each) => each.id === event.segmentId);
          });
        }
        """,
    ),
    good(
        "copied-or-sorted-in-loop",
        "typescript",
        """
        const byCode = (statusCodes) =>
          statusCodes.reduce((all, code) => ({ ...all, [code]: answers[code] }), {});
        """,
    ),
    bad(
        "copied-or-sorted-in-loop",
        "typescript",
        """
        const byId = (orders) =>
          orders.filter((each) => each.open).reduce((all, each) => ({ ...all, [each.id]: each }), {});
        """,
        2,
    ),
    # As many as there are keys; one owner has few of the others.
    good(
        "missing-limit",
        "rust",
        """
        impl Person {
            pub async fn read_blocks(pool: &mut DbPool<'_>, person_id: PersonId) -> LemmyResult<Vec<Person>> {
                let conn = &mut get_conn(pool).await?;
                person_actions::table
                    .filter(person_actions::blocked_at.is_not_null())
                    .filter(person_actions::person_id.eq(person_id))
                    .order_by(person_actions::blocked_at)
                    .load::<Person>(conn)
                    .await
            }
        }
        """,
    ),
]
