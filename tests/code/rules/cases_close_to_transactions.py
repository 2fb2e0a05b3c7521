"""Code that is close to lost updates and half-done changes, and is right."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import good

_CHECKED_THEN_INSERTED = "checked-then-inserted"
_LOADED_BY_EVERY_CALLER = "loaded-by-every-caller"
_WRITES_WITHOUT_TRANSACTION = "writes-without-transaction"

CASES = [
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;

        public static class HooksApi {
            public static void Map(RouteGroupBuilder api) {
                api.MapPost("/", async (HooksContext context, Hook hook) => {
                    context.Add(hook);
                    await context.SaveChangesAsync();
                });
                api.MapDelete("/{id:int}", async (HooksContext context, int id) => {
                    context.Remove(await context.Hooks.SingleAsync(h => h.Id == id));
                    await context.SaveChangesAsync();
                });
            }
        }
        """,
    ),
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;

        public class CardTypes {
            public async Task FillAsync(OrderingContext context) {
                if (!context.CardTypes.Any()) {
                    context.CardTypes.AddRange(Known());
                    await context.SaveChangesAsync();
                }
                await context.SaveChangesAsync();
            }
        }
        """,
    ),
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;

        public class CatalogSeed {
            public async Task SeedAsync(CatalogContext context) {
                context.Brands.RemoveRange(context.Brands);
                await context.Brands.AddRangeAsync(Brands());
                await context.SaveChangesAsync();
                await context.Items.AddRangeAsync(Items());
                await context.SaveChangesAsync();
            }
        }
        """,
    ),
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "python",
        """
        from django.db import models

        def profile(request):
            if request.method == "POST" and "leave" in request.POST:
                Member.objects.filter(user=request.user).delete()
            if request.method == "POST" and "tz" in request.POST:
                profile = request.user.profile
                profile.tz = request.POST["tz"]
                profile.save()
            return render(request, "profile.html")
        """,
    ),
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "go",
        """
        package x
        import "context"

        func (p *Provider) truncate(ctx context.Context, conn SQLXConnection, table string) (err error) {
        	if _, err = conn.ExecContext(ctx, "DELETE FROM users"); err != nil {
        		return err
        	}
        	if _, err = conn.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = ?", table); err != nil {
        		return err
        	}
        	return nil
        }
        """,
    ),
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "rust",
        """
        async fn apply(pool: &PgPool, migration: &Migration) -> Result<(), sqlx::Error> {
            sqlx::query("INSERT INTO migrations (id) VALUES ($1)").bind(migration.id).execute(pool).await?;
            if let Err(error) = run_all(migration).await {
                let _ = sqlx::query("UPDATE migrations SET last_error = $1 WHERE id = $2")
                    .bind(error.to_string())
                    .bind(migration.id)
                    .execute(pool)
                    .await;
                return Err(error);
            }
            sqlx::query("UPDATE migrations SET success = TRUE, finished_at = now() WHERE id = $1")
                .bind(migration.id)
                .execute(pool)
                .await?;
            Ok(())
        }
        """,
    ),
    good(
        _CHECKED_THEN_INSERTED,
        "csharp",
        """
        public class Order {
            private readonly List<OrderItem> _orderItems = new();

            public void AddItem(int productId, decimal price, int units) {
                var existing = _orderItems.SingleOrDefault(o => o.ProductId == productId);
                if (existing != null) {
                    existing.AddUnits(units);
                } else {
                    _orderItems.Add(new OrderItem(productId, price, units));
                }
            }
        }
        """,
    ),
    good(
        _LOADED_BY_EVERY_CALLER,
        "rust",
        """
        impl Inboxes {
            pub async fn update(&mut self) -> Result<(), Error> {
                if (Utc::now() - self.last_fetch) > *RECHECK_DELAY {
                    let (found, time) = self.get_communities(self.last_fetch).await?;
                    self.communities.extend(found);
                    self.last_fetch = time;
                }
                Ok(())
            }
        }
        """,
    ),
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "python",
        """
        from django.db import models

        def bounce(request, unsigned):
            if unsigned.startswith("n."):
                n = Notification.objects.get(code=unsigned[2:])
                n.error = "bounced"
                n.save()
            if unsigned.startswith("r."):
                profile = Profile.objects.get(user__username=unsigned[2:])
                profile.reports = "off"
                profile.save()
            return HttpResponse("OK")
        """,
    ),
    good(
        _WRITES_WITHOUT_TRANSACTION,
        "typescript",
        """
        import { Notification } from "@server/models";
        import { Op } from "sequelize";

        export default class CleanupOldNotificationsTask {
          public async perform() {
            await Notification.destroy({ where: { createdAt: { [Op.lt]: monthsAgo(12) } } });
            await Notification.destroy({ where: { viewedAt: { [Op.ne]: null }, createdAt: { [Op.lt]: monthsAgo(6) } } });
          }
        }
        """,
    ),
    good(
        "lost-update",
        "python",
        """
        class TokenBucket(models.Model):
            @staticmethod
            def authorize(value, capacity):
                obj = TokenBucket.objects.get(value=value)
                obj.tokens -= 1.0 / capacity
                if obj.tokens < 0:
                    return False
                # Race condition: two calls can overwrite each other's changes, which is accepted here.
                obj.save()
                return True
        """,
    ),
    good(
        _LOADED_BY_EVERY_CALLER,
        "typescript",
        """
        export class RevisionService {
          private maxRevision: Map<string, number> = new Map();

          async updateMax(environment: string): Promise<number> {
            const known = this.maxRevision.get(environment) ?? 0;
            const actual = await this.eventStore.getMaxRevision(known, environment);
            if (known < actual) {
              this.maxRevision.set(environment, actual);
            }
            return actual;
          }
        }
        """,
    ),
    good(
        _LOADED_BY_EVERY_CALLER,
        "kotlin",
        """
        class Detector {
            private val instances: MutableMap<Jid, Instance> = ConcurrentHashMap()

            override fun onInstanceStatusChanged(jid: Jid, status: Status) {
                if (!instances.containsKey(jid)) {
                    instances[jid] = Instance(jid, status.isAvailable)
                }
            }
        }
        """,
    ),
    good(
        _CHECKED_THEN_INSERTED,
        "csharp",
        """
        public class UsersSeed {
            public async Task SeedAsync() {
                var alice = await userManager.FindByNameAsync("alice");
                if (alice == null) {
                    await userManager.CreateAsync(new User { UserName = "alice" });
                }
            }
        }
        """,
    ),
    good(
        _CHECKED_THEN_INSERTED,
        "python",
        """
        class Logger:
            def __init__(self):
                self.instances = {}

            async def instance_for(self, credentials):
                if credentials not in self.instances:
                    made = Instance()
                    await made.ensure_token(credentials)
                    self.instances[credentials] = made
                return self.instances[credentials]
        """,
    ),
    good(
        _LOADED_BY_EVERY_CALLER,
        "typescript",
        """
        export class TokenService {
          private queryAfter: Map<string, Date> = new Map();

          async getToken(secret: string): Promise<Token | undefined> {
            const found = this.find(secret);
            if (found) {
              return found;
            }
            if (this.isThrottled(secret)) {
              return undefined;
            }
            return await this.queryToken(secret);
          }

          private isThrottled(secret: string): boolean {
            const next = this.queryAfter.get(secret);
            return next !== undefined && isFuture(next);
          }

          private async queryToken(secret: string): Promise<Token | undefined> {
            const token = await this.store.get(secret);
            this.queryAfter.set(secret, addMinutes(new Date(), 5));
            return token;
          }
        }
        """,
    ),
]
