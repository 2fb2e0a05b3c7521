"""Resolvers of GraphQL fields that ask once for each object, and tasks that are started for all items."""

# ruff: noqa: E101, E501  (snippets of Go; lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PER_OBJECT = "query-per-object"
_FAN_OUT = "unbounded-fan-out"
_TS = "typescript"

CASES = [
    bad(
        _PER_OBJECT,
        _TS,
        """
        export const resolvers = {
          Query: { orders: (_root: unknown, args: Args, ctx: Ctx) => ctx.prisma.order.findMany({ take: 50 }) },
          Order: {
            customer: (order: Order, _args: unknown, ctx: Ctx) => ctx.loaders.customers.load(order.customerId),
            shipments: (order: Order, _args: unknown, ctx: Ctx) =>
              ctx.prisma.shipment.findMany({ where: { orderId: order.id } }),
            owner: (order: Order, _args: unknown, ctx: Ctx) => ctx.users.byId(order.ownerId),
            total: (order: Order) => order.net + order.tax,
          },
        };
        """,
        6,
        7,
    ),
    bad(
        _PER_OBJECT,
        _TS,
        """
        import { Resolver, ResolveField, Parent } from '@nestjs/graphql';
        import { Repository } from 'typeorm';
        class MemberDirectory {
          constructor(private readonly members: Repository<Member>) {}
          activeOf(teamId: number) { return this.members.find({ where: { teamId }, take: 200 }); }
        }
        @Resolver(() => Team)
        class TeamResolver {
          constructor(private readonly directory: MemberDirectory) {}
          @ResolveField(() => [Member])
          members(@Parent() team: Team) { return this.directory.activeOf(team.id); }
        }
        """,
        11,
    ),
    good(
        _PER_OBJECT,
        _TS,
        """
        import DataLoader from 'dataloader';
        import { Resolver, ResolveField, Parent } from '@nestjs/graphql';
        class MemberDirectory {
          byTeam = new DataLoader(loadAll);
          activeOf(teamId: number) { return this.byTeam.load(teamId); }
        }
        @Resolver(() => Team)
        class TeamResolver {
          constructor(private readonly directory: MemberDirectory) {}
          @ResolveField(() => [Member])
          members(@Parent() team: Team) { return this.directory.activeOf(team.id); }
          @ResolveField(() => String)
          label(@Parent() team: Team) { return this.formatter.format(team.id); }
        }
        """,
    ),
    bad(
        _PER_OBJECT,
        "python",
        """
        import strawberry
        @strawberry.type
        class Author:
            id: int
            @strawberry.field
            async def books(self, info) -> list["Book"]:
                return await info.context["db"].fetch("SELECT id FROM books WHERE author_id = $1", self.id)
        @strawberry.type
        class Query:
            @strawberry.field
            async def author(self, info, id: int) -> Author:
                return await info.context["db"].fetch("SELECT id FROM authors WHERE id = $1", id)
        """,
        7,
    ),
    bad(
        _PER_OBJECT,
        "go",
        """
        package graph
        func (r *orderResolver) Customer(ctx context.Context, obj *model.Order) (*model.Customer, error) {
        	return r.customers.ByID(ctx, obj.CustomerID)
        }
        func (r *queryResolver) Orders(ctx context.Context, first int) ([]*model.Order, error) {
        	return r.orders.Latest(ctx, min(first, 50))
        }
        """,
        3,
    ),
    bad(
        _PER_OBJECT,
        "rust",
        """
        use async_graphql::*;
        #[ComplexObject]
        impl Post {
            async fn author(&self, ctx: &Context<'_>) -> Result<User> {
                let pool = ctx.data::<PgPool>()?;
                Ok(sqlx::query_as::<_, User>("SELECT id FROM users WHERE id = $1").bind(self.author_id).fetch_one(pool).await?)
            }
        }
        """,
        6,
    ),
    bad(
        _PER_OBJECT,
        "csharp",
        """
        public class ReviewType : ObjectType<Review>
        {
            protected override void Configure(IObjectTypeDescriptor<Review> descriptor)
            {
                descriptor.Field("author").Resolve(async ctx =>
                {
                    var db = ctx.Service<ShopContext>();
                    return await db.Users.FirstOrDefaultAsync(u => u.Id == ctx.Parent<Review>().AuthorId);
                });
            }
        }
        """,
        8,
    ),
    bad(
        _PER_OBJECT,
        "kotlin",
        """
        class TeamResolver(private val members: MemberRepository) : GraphQLResolver<Team> {
            fun members(team: Team): List<Member> = members.findByTeamId(team.id)
        }
        """,
        2,
    ),
    bad(
        _FAN_OUT,
        "javascript",
        """
        const RUN_SIZE = 5_000;
        async function runBilling() {
          const due = await db('subscription').where('status', 'active').limit(RUN_SIZE);
          const outcomes = await Promise.allSettled(due.map((one) => charge(one)));
          const limit = pLimit(8);
          await Promise.all(outcomes.map((one) => limit(() => send(one))));
        }
        async function syncImages() {
          const products = await catalogue.list({ limit: 5000 });
          await Promise.all(products.map((p) => upload(p)));
          const few = await catalogue.list({ limit: 20 });
          await Promise.all(few.map((p) => upload(p)));
        }
        """,
        4,
        10,
    ),
    bad(
        _FAN_OUT,
        "rust",
        """
        async fn run(messages: pull::Stream) {
            messages.for_each_concurrent(None, |message| handle(message)).await;
        }
        """,
        2,
    ),
    good(
        _FAN_OUT,
        "rust",
        """
        async fn run(messages: pull::Stream) {
            messages.for_each_concurrent(16, |message| handle(message)).await;
        }
        """,
    ),
    good(
        _FAN_OUT,
        "javascript",
        """
        const BACKENDS = { docs: 'http://docs', wiki: 'http://wiki' };
        async function searchAll(term) {
          const sources = Object.entries(BACKENDS);
          return Promise.allSettled(sources.map(([name, base]) => fetch(`${base}/search?q=${term}`)));
        }
        async function handleBatch(messages) {
          return Promise.allSettled(messages.map((message) => notify(message)));
        }
        async function consume(queueUrl) {
          const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10 }));
          await handleBatch(Messages);
        }
        async function rollout(clusters) {
          for (const wave of wavesOf(clusters)) {
            await Promise.all(wave.map((cluster) => request(cluster)));
          }
        }
        """,
    ),
    good(
        "upstream-error-not-mapped",
        _TS,
        """
        const app = require('express')();
        async function query(base: string) {
          const res = await fetch(base, { signal: AbortSignal.timeout(1000) });
          return res.json();
        }
        async function all(bases: string[]) {
          return Promise.allSettled(bases.map((base) => query(base)));
        }
        app.get('/search', async (req, res) => {
          res.json(await all(BASES));
        });
        """,
    ),
]
