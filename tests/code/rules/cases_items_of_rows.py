"""A query for each row of a list: closures, helpers that map, methods of the rows, objects around them."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PER_ITEM = "call-per-item"
_LAZY = "lazy-relation-in-loop"

CASES = [
    bad(
        _PER_ITEM,
        "rust",
        """
        use diesel::prelude::*;
        fn view(loan: Loan, conn: &mut PgConnection) -> QueryResult<View> {
            let artefact = artefacts::table.find(loan.artefact_id).first(conn)?;
            Ok(View::new(loan, artefact))
        }
        fn open(conn: &mut PgConnection) -> QueryResult<Vec<View>> {
            let found = loans::table.filter(loans::open.eq(true)).load(conn)?;
            found.into_iter().map(|loan| view(loan, conn)).collect()
        }
        """,
        8,
    ),
    bad(
        _PER_ITEM,
        "rust",
        """
        use sea_orm::EntityTrait;
        async fn report(db: &DatabaseConnection) -> Result<Vec<Yield>, DbErr> {
            let blocks = block::Entity::find().filter(open()).all(db).await?;
            stream::iter(blocks)
                .then(|block| async move {
                    let found = block.find_related(picking::Entity).all(db).await?;
                    Ok(sum(block, found))
                })
                .try_collect()
                .await
        }
        """,
        6,
    ),
    good(
        _PER_ITEM,
        "rust",
        """
        use sea_orm::EntityTrait;
        async fn report(db: &DatabaseConnection) -> Result<Vec<Yield>, DbErr> {
            let blocks = block::Entity::find().filter(open()).all(db).await?;
            let found = blocks.load_many(picking::Entity, db).await?;
            Ok(blocks.into_iter().zip(found).map(|(block, found)| sum(block, found)).collect())
        }
        async fn one(db: &DatabaseConnection, id: i32) -> Result<Option<Yield>, DbErr> {
            let block = block::Entity::find_by_id(id).one(db).await?;
            Ok(block.map(|block| sum(block, vec![])))
        }
        """,
    ),
    bad(
        _PER_ITEM,
        "rust",
        """
        impl Berth {
            async fn tariff(&self, db: &PgPool) -> sqlx::Result<i64> {
                sqlx::query_scalar("SELECT cents FROM t WHERE id = $1").bind(self.id).fetch_one(db).await
            }
        }
        async fn all(db: &PgPool) -> sqlx::Result<Vec<i64>> {
            let berths: Vec<Berth> = sqlx::query_as("SELECT id FROM berths LIMIT 100").fetch_all(db).await?;
            let mut out = Vec::new();
            for berth in &berths {
                out.push(berth.tariff(db).await?);
            }
            Ok(out)
        }
        """,
        10,
    ),
    bad(
        _PER_ITEM,
        "go",
        """
        package lots
        func mapAll[A, B any](in []A, f func(A) (B, error)) ([]B, error) {
            out := make([]B, 0, len(in))
            for _, a := range in {
                b, err := f(a)
                if err != nil {
                    return nil, err
                }
                out = append(out, b)
            }
            return out, nil
        }
        func (r *Repo) top(ctx context.Context, id int64) (top int64, err error) {
            err = r.db.NewSelect().Table("bids").Where("lot_id = ?", id).Scan(ctx, &top)
            return top, err
        }
        func (r *Repo) Page(ctx context.Context) ([]View, error) {
            var lots []Lot
            if err := r.db.NewSelect().Model(&lots).Where("open").Limit(100).Scan(ctx); err != nil {
                return nil, err
            }
            return mapAll(lots, func(l Lot) (View, error) {
                top, err := r.top(ctx, l.ID)
                return View{ID: l.ID, Top: top}, err
            })
        }
        """,
        23,
    ),
    bad(
        _PER_ITEM,
        "go",
        """
        package boats
        func (b Boat) ownerName(ctx context.Context, db *sqlx.DB) (string, error) {
            var name string
            err := db.GetContext(ctx, &name, "select name from owners where id = $1", b.Owner)
            return name, err
        }
        func (r *Repo) List(ctx context.Context) (names []string, err error) {
            var boats []Boat
            if err := r.db.SelectContext(ctx, &boats, "select id, owner from boats limit 100"); err != nil {
                return nil, err
            }
            for _, b := range boats {
                name, err := b.ownerName(ctx, r.db)
                if err != nil {
                    return nil, err
                }
                names = append(names, name)
            }
            return names, nil
        }
        """,
        13,
    ),
    good(
        _PER_ITEM,
        "go",
        """
        package boats
        func (r *Repo) One(ctx context.Context, id int64) (*View, error) {
            boat, err := r.boats.Find(ctx, id)
            if err != nil {
                return nil, err
            }
            return withTx(r.db, func(tx *sqlx.Tx) (*View, error) {
                return load(ctx, tx, boat.ID)
            })
        }
        """,
    ),
    bad(
        _PER_ITEM,
        "python",
        """
        def reader_of(session, loan):
            return session.scalars(select(Reader).where(Reader.id == loan.reader_id)).one()

        def row(session, loan):
            return {"id": loan.id, "reader": reader_of(session, loan).name}

        def overdue(session):
            loans = session.scalars(select(Loan).where(Loan.overdue).limit(200)).all()
            return [row(session, loan) for loan in loans]
        """,
        9,
    ),
    bad(
        _PER_ITEM,
        "typescript",
        """
        import { Pool } from 'pg';
        class Berth {
          async tariff(): Promise<number> {
            const found = await pool.query('SELECT cents FROM tariffs WHERE berth_id = $1', [this.id]);
            return found.rows[0].cents;
          }
        }
        export async function list() {
          const { rows } = await pool.query('SELECT id FROM berths LIMIT 100');
          const berths = rows.map((row) => new Berth(row.id));
          const out = [];
          for (const berth of berths) out.push(await berth.tariff());
          return out;
        }
        """,
        12,
    ),
    good(
        _PER_ITEM,
        "javascript",
        """
        class MemberRepository {
          async get(data) {
            return this._Customer.findOne({ id: data.id });
          }
          async names(id) {
            const customers = await this._Customer.findAll({ filter: id });
            const out = [];
            for (const customer of customers.models) out.push(customer.get('name'));
            return out;
          }
        }
        """,
    ),
    bad(
        _LAZY,
        "javascript",
        """
        const { Loan } = require('../models');
        class LoanView {
          constructor(loan) {
            this.loan = loan;
          }
          async toJSON() {
            const [exhibits, borrower] = await Promise.all([
              this.loan.getExhibits({ attributes: ['id'] }),
              this.loan.getBorrower(),
            ]);
            return { id: this.loan.id, borrower, exhibits };
          }
          static async page(loans) {
            const out = [];
            for (const loan of loans) out.push(await new LoanView(loan).toJSON());
            return out;
          }
        }
        async function overdue() {
          const loans = await Loan.findAll({ where: { open: true }, limit: 100 });
          return LoanView.page(loans);
        }
        """,
        8,
        9,
    ),
    good(
        _LAZY,
        "javascript",
        """
        const { Loan, Borrower } = require('../models');
        class LoanView {
          constructor(loan) {
            this.loan = loan;
          }
          toJSON() {
            return { id: this.loan.id, borrower: this.loan.Borrower.name };
          }
          static page(loans) {
            return loans.map((loan) => new LoanView(loan).toJSON());
          }
        }
        async function overdue() {
          const loans = await Loan.findAll({ include: [Borrower], limit: 100 });
          return LoanView.page(loans);
        }
        """,
    ),
    bad(
        _LAZY,
        "python",
        """
        def _row(vehicle):
            rental = vehicle.rentals.filter(returned_at__isnull=True).first()
            return {"plate": vehicle.plate, "station": vehicle.station.name, "rented": rental}

        def overview(request):
            vehicles = Vehicle.objects.filter(active=True).order_by("plate")
            paginator = Paginator(vehicles, 100)
            page = paginator.page(request.GET.get("page"))
            return JsonResponse({"vehicles": [_row(vehicle) for vehicle in page.object_list]})
        """,
        2,
        3,
    ),
    good(
        _LAZY,
        "python",
        """
        def _row(vehicle):
            return {"plate": vehicle.plate, "station": vehicle.station.name}

        def overview(request):
            vehicles = Vehicle.objects.filter(active=True).select_related("station").order_by("plate")
            paginator = Paginator(vehicles, 100)
            page = paginator.page(request.GET.get("page"))
            return JsonResponse({"vehicles": [_row(vehicle) for vehicle in page.object_list]})
        """,
    ),
    bad(
        _LAZY,
        "python",
        """
        class LoanRow:
            def __init__(self, loan):
                self.loan = loan

            def as_dict(self):
                return {"id": self.loan.id, "reader": self.loan.reader.name}

        def overdue(request):
            loans = Loan.objects.filter(overdue=True)[:100]
            return JsonResponse({"loans": [LoanRow(loan).as_dict() for loan in loans]})
        """,
        6,
    ),
    bad(
        _LAZY,
        "java",
        """
        class Season {
            private static final Function<Concert, View> TO_VIEW = concert -> new View(
                    concert.getTitle(), describe(concert.getProgram()));
            List<View> upcoming(LocalDate from) {
                return em.createQuery("select c from Concert c where c.date >= :from", Concert.class)
                        .setParameter("from", from).getResultStream().map(TO_VIEW).toList();
            }
            private static List<String> describe(Collection<Item> program) {
                return program.stream().map(Item::getWork).toList();
            }
        }
        """,
        3,
    ),
    good(
        _LAZY,
        "java",
        """
        class Season {
            private static final Function<Concert, View> TO_VIEW = concert -> new View(
                    concert.getTitle(), describe(concert.getProgram()));
            List<View> upcoming(LocalDate from) {
                return em.createQuery("select c from Concert c left join fetch c.program", Concert.class)
                        .getResultStream().map(TO_VIEW).toList();
            }
            private static List<String> describe(Collection<Item> program) {
                return program.stream().map(Item::getWork).toList();
            }
        }
        """,
    ),
    bad(
        _LAZY,
        "kotlin",
        """
        import org.jetbrains.exposed.sql.transactions.transaction
        fun arrivals(hotel: Long) = transaction {
            Booking.find { Bookings.hotelId eq hotel }
                .limit(500)
                .map { booking -> Row(booking.id.value, booking.guest.fullName) }
        }
        """,
        5,
    ),
    good(
        _LAZY,
        "kotlin",
        """
        import org.jetbrains.exposed.sql.transactions.transaction
        fun arrivals(hotel: Long) = transaction {
            Booking.find { Bookings.hotelId eq hotel }
                .limit(500)
                .with(Booking::guest)
                .map { booking -> Row(booking.id.value, booking.guest.fullName) }
        }
        """,
    ),
    bad(
        _PER_ITEM,
        "java",
        """
        class Tickets {
            private final TicketRepository tickets;
            private final OwnerRepository owners;
            List<Row> report() {
                return tickets.findByState("OPEN").stream().map(this::toRow).toList();
            }
            private Row toRow(Ticket t) {
                return new Row(t.getId(), ownerName(t.getOwnerId()));
            }
            private String ownerName(long id) {
                return owners.findById(id).map(Owner::getName).orElse("");
            }
        }
        """,
        8,
    ),
    bad(
        _PER_ITEM,
        "kotlin",
        """
        class Invoices(private val repo: InvoiceRepository, private val customers: CustomerRepository) {
            fun open(): List<View> = repo.findByPaidFalse().map { it.toView() }
            private fun Invoice.toView() = View(id, customers.findById(customerId).orElseThrow().name)
        }
        """,
        2,
    ),
]
