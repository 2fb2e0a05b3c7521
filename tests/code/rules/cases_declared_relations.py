"""Relations that the classes of a text declare, read for every row through methods and functions."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

LAZY = "lazy-relation-in-loop"

_ORDERS = """
        @Entity class Order {
            @Id long id;
            @ManyToOne(fetch = FetchType.LAZY) Supplier supplier;
            String region() { return supplier.getRegion(); }
        }
        interface OrderRepository extends JpaRepository<Order, Long> {
            Page<Order> findByState(String state, Pageable page);
            Optional<Order> findByNumber(String number);
            @EntityGraph(attributePaths = "supplier")
            Page<Order> findByTeam(long team, Pageable page);
        }
        class Orders {
            private final OrderRepository orders;
            private Row row(Order order) {
                Supplier supplier = order.supplier;
                return new Row(order.id, supplier.vat);
            }
"""
_TICKETS = """
        import org.springframework.data.jpa.repository.JpaRepository
        @Entity
        class Ticket(
            @Id val id: Long,
            @ManyToOne(fetch = FetchType.LAZY) val agent: Agent?,
            @OneToMany(mappedBy = "ticket") val notes: List<Note>,
        )
        fun Ticket.toView() = View(id, agent?.nick)
        interface TicketRepository : JpaRepository<Ticket, Long> {
            fun findByQueue(queue: String): List<Ticket>
        }
"""
_MEMBERS = """
        class Team(Base):
            members: Mapped[list["Member"]] = relationship()
        class Member(Base):
            badge: Mapped["Badge"] = relationship()
            team: Mapped[Team] = relationship(lazy="joined")
            @property
            def label(self):
                return self.badge.code
        def row(member):
            return {"badge": member.badge.code}
"""
_SHOP = """
        public class Order {
            public int Id { get; set; }
            public virtual Customer Customer { get; set; } = null!;
        }
        public class Orders(Shop db) {
            static Row ToRow(Order o) => new(o.Id, o.Customer.Vat);
"""

CASES = [
    bad(LAZY, "java", _ORDERS + """
            Page<Row> open(Pageable page) { return orders.findByState("OPEN", page).map(this::row); }
        }
        """, 16),
    bad(LAZY, "java", _ORDERS + """
            void show() { for (Order each : orders.findAll()) { print(each.region()); } }
        }
        """, 4),
    bad(LAZY, "java", _ORDERS + """
            List<String> lines(EntityManager em) {
                List<Order> found = em.createQuery("select o from Order o", Order.class).getResultList();
                return found.stream().map(o -> o.supplier.vat).toList();
            }
        }
        """, 21),
    good(LAZY, "java", _ORDERS + """
            Page<Row> open(Pageable page) { return orders.findByTeam(1, page).map(this::row); }
            Optional<Row> one(String number) { return orders.findByNumber(number).map(this::row); }
            Optional<String> vat(long id) { return orders.findById(id).map(o -> o.supplier.vat); }
            List<Long> keys() { return orders.findAll().stream().map(o -> o.supplier.getId()).toList(); }
        }
        """),
    bad(LAZY, "kotlin", _TICKETS + """
        class Desk(private val tickets: TicketRepository) {
            fun open(queue: String) = tickets.findByQueue(queue).map { it.toView() }
        }
        """, 8),
    bad(LAZY, "kotlin", _TICKETS + """
        class Desk(private val tickets: TicketRepository) {
            fun open(queue: String) = tickets.findByQueue(queue).map(Ticket::toView)
        }
        """, 8),
    bad(LAZY, "kotlin", """
        class Alert(id: EntityID<Long>) : LongEntity(id) {
            companion object : LongEntityClass<Alert>(Alerts)
            var rule by Rule referencedOn Alerts.rule
        }
        fun open() = Alert.find { Alerts.open eq true }.limit(50).map(::row)
        private fun row(alert: Alert) = Row(alert.id.value, alert.rule.code)
        """, 6),
    good(LAZY, "kotlin", """
        class Alert(id: EntityID<Long>) : LongEntity(id) {
            companion object : LongEntityClass<Alert>(Alerts)
            var rule by Rule referencedOn Alerts.rule
        }
        fun open() = Alert.find { Alerts.open eq true }.limit(50).with(Alert::rule).map(::row)
        private fun row(alert: Alert) = Row(alert.id.value, alert.rule.code)
        """),
    bad(LAZY, "python", _MEMBERS + """
        def teams(session):
            found = session.scalars(select(Team).options(selectinload(Team.members))).all()
            return [[row(member) for member in team.members] for team in found]
        """, 10),
    bad(LAZY, "python", _MEMBERS + """
        def page(after):
            return select(Member).where(Member.id > after).limit(50)
        def members(session, after):
            return [member.label for member in session.scalars(page(after))]
        """, 8),
    bad(LAZY, "python", _MEMBERS + """
        def members(session):
            found = session.query(Member).limit(50).all()
            return list(map(row, found))
        """, 10),
    good(LAZY, "python", _MEMBERS + """
        def members(session):
            found = session.query(Member).options(selectinload(Member.badge)).limit(50).all()
            return [(row(member), member.team.code) for member in found]
        def one(session, key):
            return row(session.get(Member, key))
        """),
    bad(LAZY, "python", """
        class Book(models.Model):
            author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
            def to_json(self):
                return {"born": self.author.birthplace, "author": self.author_id}
        def books(request):
            return JsonResponse({"books": [book.to_json() for book in Book.objects.order_by("id")[:50]]})
        """, 4),
    good(LAZY, "python", """
        class Book(models.Model):
            author = models.ForeignKey(Author, on_delete=models.CASCADE)
            def to_json(self):
                return {"born": self.author.birthplace}
        def books(request):
            found = Book.objects.select_related("author").order_by("id")[:50]
            return JsonResponse({"books": [book.to_json() for book in found]})
        """),
    bad(LAZY, "csharp", _SHOP + """
            public async Task<List<Row>> List() {
                var found = await db.Orders.OrderBy(o => o.Id).Take(50).ToListAsync();
                return found.Select(ToRow).ToList();
            }
        }
        """, 6),
    good(LAZY, "csharp", _SHOP + """
            public async Task<List<Row>> List() {
                var found = await db.Orders.Include(o => o.Customer).Take(50).ToListAsync();
                return found.Select(ToRow).ToList();
            }
        }
        """),
]  # fmt: skip
