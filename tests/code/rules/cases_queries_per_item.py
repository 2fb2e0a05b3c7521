"""A query for every item: through functions that are given to `map`, typed stores, resolvers, serializers."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PER_ITEM = "call-per-item"
_LAZY = "lazy-relation-in-loop"
_OBJECT = "query-per-object"

CASES = [
    bad(
        _PER_ITEM,
        "java",
        """
        class Visits {
            private final VisitRepository visits;
            private final PatientRepository patients;
            List<Row> ofWard(long ward) {
                return visits.findByWard(ward).stream().map(this::row).toList();
            }
            private Row row(Visit visit) {
                return new Row(visit.getId(), patients.findById(visit.getPatientId()).orElseThrow());
            }
        }
        """,
        8,
    ),
    good(
        _PER_ITEM,
        "java",
        """
        class Visits {
            private final VisitRepository visits;
            private final PatientRepository patients;
            List<Row> ofWard(long ward) {
                Map<Long, Patient> known = byId(patients.findAllById(idsOf(ward)));
                return visits.findByWard(ward).stream().map(visit -> row(visit, known)).toList();
            }
            Optional<Row> one(long id) {
                return visits.findById(id).map(this::first);
            }
            private Row first(Visit visit) {
                return new Row(visit.getId(), names.get(visit.getPatientId()));
            }
            private Row row(Visit visit, Map<Long, Patient> known) {
                return new Row(visit.getId(), known.get(visit.getPatientId()));
            }
        }
        """,
    ),
    bad(
        _PER_ITEM,
        "java",
        """
        class Audience {
            private final UnsubscribeRepository left;
            private final ContactRepository contacts;
            List<Contact> eligible(long list) {
                List<Contact> found = new ArrayList<>();
                for (Contact contact : contacts.findByList(list)) {
                    if (!left.existsByEmail(contact.getEmail())) {
                        found.add(contact);
                    }
                }
                return found;
            }
        }
        """,
        7,
    ),
    bad(
        _PER_ITEM,
        "java",
        """
        class Report {
            void lines(EntityManager em) {
                List<Parcel> parcels = em.createQuery("from Parcel p").setMaxResults(9).getResultList();
                for (Parcel parcel : parcels) {
                    add(em.createQuery("select count(s) from Scan s where s.parcel = :p")
                        .setParameter("p", parcel).getSingleResult());
                }
            }
        }
        """,
        5,
    ),
    bad(
        _PER_ITEM,
        "csharp",
        """
        public class Exporter
        {
            private readonly IInvoiceRepository _invoices;
            private readonly ICustomerRepository _customers;
            public async Task Export(DateOnly day)
            {
                foreach (var invoice in await _invoices.GetByDayAsync(day))
                {
                    var customer = await _customers.GetByIdAsync(invoice.CustomerId);
                    Write(invoice, customer);
                }
            }
        }
        """,
        9,
    ),
    bad(
        _PER_ITEM,
        "kotlin",
        """
        import org.jooq.DSLContext
        class Payslips(private val dsl: DSLContext) {
            fun month(): List<Slip> =
                dsl.selectFrom(PEOPLE).where(PEOPLE.ACTIVE.isTrue).fetch().map { person ->
                    Slip(dsl.selectFrom(HOURS).where(HOURS.PERSON.eq(person.id)).fetch())
                }
        }
        """,
        5,
    ),
    bad(
        _PER_ITEM,
        "kotlin",
        """
        import org.jetbrains.exposed.sql.selectAll
        fun latest(): List<View> = transaction {
            Posts.selectAll().limit(20).map { row ->
                View(row[Posts.title], Comments.selectAll().where { Comments.post eq row[Posts.id] }.count())
            }
        }
        """,
        4,
    ),
    bad(
        _PER_ITEM,
        "python",
        """
        from peewee import fn
        from models import Album, Artist
        def discography(genre):
            for artist in Artist.select().where(Artist.genre == genre):
                yield artist.name, list(Album.select().where(Album.artist == artist))
        """,
        5,
    ),
    bad(
        _PER_ITEM,
        "typescript",
        """
        export class Threads {
          constructor(private threads: Model<Thread>, private replies: Model<Reply>) {}
          async list(forum: string) {
            const threads = await this.threads.find({ forum }).limit(50).lean();
            return Promise.all(
              threads.map(async (each) => ({ count: await this.replies.countDocuments({ of: each._id }) })),
            );
          }
        }
        """,
        6,
    ),
    bad(
        _PER_ITEM,
        "rust",
        """
        use sea_orm::*;
        pub async fn shelf(db: &DatabaseConnection) -> Result<Vec<String>, DbErr> {
            let books = book::Entity::find().filter(book::Column::Open.eq(true)).all(db).await?;
            let mut names = vec![];
            for each in books {
                names.push(author::Entity::find_by_id(each.author_id).one(db).await?);
            }
            Ok(names)
        }
        """,
        6,
    ),
    bad(
        _LAZY,
        "python",
        """
        from library.models import Loan
        def as_dict(loan):
            return {"book": loan.book.title, "due": loan.due_on.isoformat()}
        def overdue(request):
            loans = Loan.objects.filter(returned_on__isnull=True)[:200]
            return [as_dict(loan) for loan in loans]
        """,
        3,
    ),
    good(
        _LAZY,
        "python",
        """
        from library.models import Loan
        def as_dict(loan):
            return {"book": loan.book.title, "due": loan.due_on.isoformat()}
        def overdue(request):
            loans = Loan.objects.filter(returned_on__isnull=True).select_related("book")[:200]
            return [as_dict(loan) for loan in loans]
        def one(request, pk):
            return as_dict(Loan.objects.get(pk=pk))
        """,
    ),
    bad(
        _LAZY,
        "java",
        """
        class History {
            private final OrderRepository orders;
            List<OrderDto> of(Long customer) {
                return orders.findByCustomer(customer).stream().map(this::dto).toList();
            }
            private OrderDto dto(Order order) {
                return new OrderDto(order.getId(), order.getLines().stream().map(Line::sku).toList());
            }
        }
        """,
        7,
    ),
    bad(
        _OBJECT,
        "typescript",
        """
        export class BookResolver {
          constructor(private readonly prisma: PrismaService) {}
          @ResolveField('reviews')
          reviews(@Parent() book: Book) {
            return this.prisma.review.findMany({ where: { bookId: book.id } });
          }
        }
        """,
        5,
    ),
    good(
        _OBJECT,
        "typescript",
        """
        export class BookResolver {
          constructor(private prisma: PrismaService, private reviewsLoader: ReviewsLoader) {}
          @Query('book')
          book(@Args('id') id: string) {
            return this.prisma.book.findUnique({ where: { id } });
          }
          @ResolveField('reviews')
          reviews(@Parent() book: Book) {
            return this.reviewsLoader.load(book.id);
          }
        }
        """,
    ),
    bad(
        _OBJECT,
        "java",
        """
        class BookController {
            private final AuthorRepository authors;
            @SchemaMapping
            Author author(Book book) {
                return authors.findById(book.authorId()).orElse(null);
            }
        }
        """,
        5,
    ),
    bad(
        _OBJECT,
        "python",
        """
        from rest_framework import serializers
        class TaskSerializer(serializers.ModelSerializer):
            last = serializers.SerializerMethodField()
            def get_last(self, task):
                return task.comments.order_by("-at").first()
        """,
        5,
    ),
    good(
        _OBJECT,
        "python",
        """
        from rest_framework import serializers
        class TaskSerializer(serializers.ModelSerializer):
            names = serializers.SerializerMethodField()
            def get_names(self, task):
                return [each.name for each in task.comments.all()]
            def get_queryset(self, task):
                return task.comments.filter(open=True)
        """,
    ),
    bad(
        _PER_ITEM,
        "java",
        """
        class Statements {
            private final InvoiceRepository invoices;
            private final PaymentRepository payments;
            List<Row> rows(long account, PageRequest request) {
                List<Invoice> batch = invoices.findByAccount(account, request).getContent();
                List<Row> rows = new ArrayList<>();
                for (Invoice invoice : batch) {
                    rows.add(new Row(invoice, payments.findByInvoiceId(invoice.getId())));
                }
                return rows;
            }
        }
        """,
        8,
    ),
    good(
        _PER_ITEM,
        "java",
        """
        class Statements {
            private final PaymentRepository payments;
            void all(List<List<Long>> batches) {
                for (List<Long> batch : batches) {
                    send(payments.findByInvoiceIdIn(batch));
                }
            }
        }
        """,
    ),
]
