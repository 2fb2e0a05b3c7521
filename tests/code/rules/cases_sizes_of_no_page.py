"""Numbers that are called sizes or limits, and are no sizes of pages that a client of a service chooses."""

from __future__ import annotations

from tests.code.rules.cases import good

_PAGE = "unbounded-page-size"

CASES = [
    # The size of an upload.
    good(
        _PAGE,
        "typescript",
        """
        router.post("/photos/:id", upload.single("file"), async (req: Request, res: Response) => {
          const { buffer, size } = req.file;
          await Photo.save({ id: req.params.id, size, take: 1 });
          res.json({ size });
        });
        """,
    ),
    # A field of an answer.
    good(
        _PAGE,
        "typescript",
        """
        export const files = router({
          list: procedure
            .input(z.object({ cursor: z.number(), limit: z.number().max(100) }))
            .output(z.object({ files: z.array(z.object({ id: z.string(), size: z.number() })) }))
            .query(async ({ input }) => db.files.findMany({ take: input.limit })),
        });
        """,
    ),
    # A description that nothing checks.
    good(
        _PAGE,
        "typescript",
        """
        router.get(
          "/pictures",
          described({ query: { limit: { type: "number", description: "How many" } } }),
          async (req, res) => res.json(await pictures.trending(req.query)),
        );
        """,
    ),
    # The user of a program on the command line.
    good(
        _PAGE,
        "rust",
        """
        use clap::Parser;

        #[derive(Parser, Deserialize)]
        struct ListArgs {
            limit: Option<usize>,
        }

        async fn list(args: ListArgs, client: Client) -> anyhow::Result<()> {
            let found = client.list().limit(args.limit.unwrap_or(10)).send().await?;
            print(found)
        }
        """,
    ),
    # A type that no request is read into.
    good(
        _PAGE,
        "rust",
        """
        #[derive(Default)]
        struct EvictedByQuery {
            count: usize,
        }

        fn put(cache: &Cache, key: Key, value: Value, gauge: &Gauge) {
            let mut evicted = EvictedByQuery::default();
            cache.insert_with(key, value, &mut evicted);
            gauge.dec_by(evicted.count);
        }
        """,
    ),
    # A model that is given checked options.
    good(
        _PAGE,
        "typescript",
        """
        export class Lists {
          static async contents(ctx: Context, pagination: { limit: number; cursor: string | null }) {
            const found = await Entry.load(ctx, { limit: pagination.limit, cursor: pagination.cursor });
            return found;
          }
        }
        """,
    ),
    # The limit is set two functions on.
    good(
        _PAGE,
        "csharp",
        """
        public class Logs
        {
            public static void Map(RouteGroupBuilder group)
            {
                group.MapGet("/logs", (Db db, int? pagesize) => Read(db, pagesize ?? 100));
            }

            private static Entry[] Read(Db db, int pagesize) => Dump(db, "logs", pagesize);

            public static Entry[] Dump(Db db, string table, int pagesize)
            {
                var most = Math.Min(500, pagesize);
                return db.Rows(table).Take(most).ToArray();
            }
        }
        """,
    ),
]
