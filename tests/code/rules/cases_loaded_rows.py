"""Tables that are loaded whole, and filtered, paged or counted by the program."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_SIFTED = "filtered-after-loading"
_COUNTED = "count-by-loading"

CASES = [
    bad(
        _SIFTED,
        "csharp",
        """
        public sealed class StockQueries(WarehouseContext db)
        {
            public List<StockLine> Low(string site) =>
                db.StockLines.AsEnumerable().Where(l => l.Site == site).ToList();
            public async Task<decimal> Fines(int district, CancellationToken ct)
            {
                var tickets = await db.Fines.Include(t => t.Car).ToListAsync(ct);
                return tickets.Where(t => t.District == district).Sum(t => t.Fine);
            }
        }
        """,
        4,
        7,
    ),
    good(
        _SIFTED,
        "csharp",
        """
        public sealed class StockQueries(WarehouseContext db, IRepository<Setting> settings)
        {
            public List<StockLine> Low(string site) =>
                db.StockLines.Where(l => l.Site == site).AsEnumerable().Where(l => Fits(l)).ToList();
            public async Task<Setting> Find(string key, CancellationToken ct)
            {
                var all = await settings.GetAllAsync(ct);
                return all.First(s => s.Key == key);
            }
            public async Task<Setting> Named(string key) =>
                (await db.Settings.ToListAsync()).First(s => s.Key == key);
        }
        """,
    ),
    bad(
        _SIFTED,
        "java",
        """
        class ParkingReport {
            private final ClaimRepository claims;
            List<Claim> open(String adjuster) {
                List<Claim> all = claims.findAll();
                List<Claim> found = new ArrayList<>();
                for (Claim claim : all) {
                    if (claim.getAdjuster().equals(adjuster)) {
                        found.add(claim);
                    }
                }
                return found;
            }
        }
        """,
        4,
    ),
    good(
        _SIFTED,
        "java",
        """
        class ParkingReport {
            private final ClaimRepository claims;
            List<Claim> all() {
                List<Claim> all = claims.findAll();
                log.info("{} open", all.stream().filter(c -> c.isOpen()).toList());
                return all;
            }
            void send() {
                for (Claim claim : claims.findAll(PageRequest.of(0, 100))) {
                    if (claim.isOpen()) {
                        mail.send(claim);
                    }
                }
            }
        }
        """,
    ),
    bad(
        _SIFTED,
        "kotlin",
        """
        import org.jetbrains.exposed.sql.selectAll
        class ClaimSearch(private val claims: ClaimRepository) {
            fun open(adjuster: String) = claims.findAll().filter { it.adjuster == adjuster }.take(50)
            fun last(id: Long) = Readings.selectAll().map { it.toReading() }.filter { it.meter == id }.first()
        }
        """,
        3,
        4,
    ),
    good(
        _SIFTED,
        "kotlin",
        """
        import org.jetbrains.exposed.sql.selectAll
        fun last(id: Long) =
            Readings.selectAll().where { Readings.meter eq id }.limit(1).map { it.toReading() }.first()
        """,
    ),
    bad(
        _SIFTED,
        "python",
        """
        from pymongo import MongoClient
        from sqlalchemy import select
        async def total(session, campaign):
            result = await session.execute(select(Donation))
            donations = result.scalars().all()
            return sum(each.amount for each in donations if each.campaign == campaign)
        def recent(events, user):
            found = list(events.find({}))
            return [event for event in found if event["user"] == user][:20]
        def page(session, number):
            rows = session.query(Parcel).all()
            return rows[number * 20 : number * 20 + 20]
        """,
        5,
        8,
        11,
    ),
    good(
        _SIFTED,
        "python",
        """
        from pymongo import MongoClient
        from sqlalchemy import select
        async def total(session, campaign):
            found = await session.execute(select(Donation).where(Donation.campaign == campaign))
            return sum(each.amount for each in found.scalars().all() if each.amount > 0)
        def recent(events, user):
            return [each for each in list(events.find({"user": user}).limit(20)) if each["at"]]
        def names(session):
            return [each.name if each.name else "-" for each in session.query(Parcel).all()]
        """,
    ),
    bad(
        _SIFTED,
        "typescript",
        """
        export class Appointments {
          constructor(private readonly appointments: Repository<Appointment>) {}
          async upcoming(doctor: string) {
            const all = await this.appointments.find();
            return all.filter((each) => each.doctor === doctor);
          }
          async city(name: string) {
            const listings = await Listing.find({});
            return listings.filter((each) => each.city === name).slice(0, 50);
          }
        }
        """,
        4,
        8,
    ),
    good(
        _SIFTED,
        "typescript",
        """
        export class Appointments {
          constructor(private readonly appointments: Repository<Appointment>) {}
          async upcoming(doctor: string) {
            const mine = await this.appointments.find({ where: { doctor }, take: 50 });
            return mine.filter((each) => each.open);
          }
          async grouped(query: Filter) {
            const found = await this.model.find(query).populate('steps').lean();
            return found.filter((each) => each.open);
          }
        }
        """,
    ),
    bad(
        _SIFTED,
        "go",
        """
        package store
        func (s *Store) Active(ctx context.Context, plan string) ([]Policy, error) {
        	rows, err := s.db.QueryContext(ctx, "SELECT id, plan FROM policies")
        	if err != nil {
        		return nil, err
        	}
        	defer rows.Close()
        	var found []Policy
        	for rows.Next() {
        		var each Policy
        		if err := rows.Scan(&each.ID, &each.Plan); err != nil {
        			return nil, err
        		}
        		if each.Plan == plan {
        			found = append(found, each)
        		}
        	}
        	return found, rows.Err()
        }
        """,
        3,
    ),
    good(
        _SIFTED,
        "go",
        """
        package store
        func (s *Store) All(ctx context.Context) ([]Policy, error) {
        	rows, err := s.db.QueryContext(ctx, "SELECT id, plan FROM policies")
        	if err != nil {
        		return nil, err
        	}
        	defer rows.Close()
        	var found []Policy
        	for rows.Next() {
        		var each Policy
        		if err := rows.Scan(&each.ID, &each.Plan); err != nil {
        			return nil, err
        		}
        		found = append(found, each)
        	}
        	return found, rows.Err()
        }
        """,
    ),
    bad(
        _SIFTED,
        "rust",
        """
        use diesel::prelude::*;
        use sea_orm::EntityTrait;
        pub fn expiring(conn: &mut PgConnection, region: &str) -> QueryResult<Vec<Policy>> {
            let all = policies.load::<Policy>(conn)?;
            Ok(all.into_iter().filter(|each| each.region == region).collect())
        }
        pub async fn open(db: &DatabaseConnection, site: i32) -> Result<Vec<shift::Model>, DbErr> {
            let shifts = Shift::find().all(db).await?;
            Ok(shifts.into_iter().filter(|each| each.site == site).collect())
        }
        """,
        4,
        8,
    ),
    good(
        _SIFTED,
        "rust",
        """
        use sea_orm::EntityTrait;
        pub async fn open(db: &DatabaseConnection, site: i32) -> Result<Vec<shift::Model>, DbErr> {
            let shifts = Shift::find().filter(shift::Column::Site.eq(site)).all(db).await?;
            Ok(shifts.into_iter().filter(|each| each.is_open()).collect())
        }
        """,
    ),
    bad(
        _COUNTED,
        "typescript",
        """
        export async function left(prisma: PrismaClient, workspace: string, limit: number) {
          const documents = await prisma.document.findMany({ where: { workspace } });
          return limit - documents.length;
        }
        """,
        2,
    ),
    good(
        _COUNTED,
        "typescript",
        """
        export async function left(prisma: PrismaClient, workspace: string, limit: number) {
          const documents = await prisma.document.findMany({ where: { workspace } });
          log(documents.length);
          return documents;
        }
        """,
    ),
    bad(
        _COUNTED,
        "csharp",
        """
        public class Votes(PollContext db)
        {
            public async Task<int> Count(int poll)
            {
                var votes = await db.Votes.Where(v => v.Poll == poll).ToListAsync();
                return votes.Count;
            }
        }
        """,
        5,
    ),
    bad(
        _COUNTED,
        "kotlin",
        """
        class Seats(private val seats: SeatRepository) {
            fun taken(show: Long): Int = seats.findByShow(show).size
        }
        """,
        2,
    ),
    good(
        _COUNTED,
        "kotlin",
        """
        class Seats(private val seats: SeatRepository) {
            fun taken(show: Long): Long = seats.countByShow(show)
            fun first(show: Long): Seat? {
                val found = seats.findByShow(show)
                return if (found.size == 1) found[0] else null
            }
        }
        """,
    ),
    bad(
        _COUNTED,
        "go",
        """
        package votes
        func (s *Store) Count(poll int) (int, error) {
        	var votes []Vote
        	if err := s.db.Where("poll = ?", poll).Find(&votes).Error; err != nil {
        		return 0, err
        	}
        	return len(votes), nil
        }
        """,
        4,
    ),
]
