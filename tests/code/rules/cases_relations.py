"""Relations that an ORM loads one by one, in queries that stand apart from the loop."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

LAZY = "lazy-relation-in-loop"

CASES = [
    bad(LAZY, "python", """
        from sqlalchemy import select
        def rows(session):
            statement = select(Order).where(Order.paid).limit(50)
            return [(order.id, order.customer.name) for order in session.scalars(statement)]
        """, 4),
    good(LAZY, "python", """
        from sqlalchemy import select
        from sqlalchemy.orm import selectinload
        def rows(session):
            statement = select(Order).options(selectinload(Order.customer)).limit(50)
            return [(order.id, order.customer.name) for order in session.scalars(statement)]
        """),
    bad(LAZY, "java", """
        interface ProjectRepository extends JpaRepository<Project, Long> {
            @EntityGraph(attributePaths = "lead")
            List<Project> findByTeam(long id);
        }
        class Board {
            private final ProjectRepository projects;
            List<Row> rows(long id) {
                return projects.findByTeam(id).stream()
                    .map(p -> new Row(p.getLead().getName(), p.getTasks().size()))
                    .toList();
            }
        }
        """, 9),
    good(LAZY, "java", """
        interface ProjectRepository extends JpaRepository<Project, Long> {
            @EntityGraph(attributePaths = {"lead", "tasks"})
            List<Project> findByTeam(long id);
        }
        class Board {
            private final ProjectRepository projects;
            List<Row> rows(long id) {
                return projects.findByTeam(id).stream()
                    .map(p -> new Row(p.getLead().getName(), p.getTasks().size()))
                    .toList();
            }
        }
        """),
    bad(LAZY, "kotlin", """
        import org.springframework.data.jpa.repository.JpaRepository
        interface ProjectRepository : JpaRepository<Project, Long> { fun findByTeam(id: Long): List<Project> }
        class Board(private val projects: ProjectRepository) {
            fun rows(id: Long) = projects.findByTeam(id).map { p -> Row(p.id, p.tasks.size) }
        }
        """, 4),
    good(LAZY, "kotlin", """
        import org.springframework.data.jpa.repository.JpaRepository
        interface ProjectRepository : JpaRepository<Project, Long> {
            @Query("select p from Project p left join fetch p.tasks where p.team = :id")
            fun findByTeam(id: Long): List<Project>
        }
        class Board(private val projects: ProjectRepository) {
            fun rows(id: Long) = projects.findByTeam(id).map { p -> Row(p.id, p.tasks.size) }
        }
        """),
    good(LAZY, "kotlin", """
        class Board(private val projects: ProjectRepository) {
            fun rows(id: Long) = projects.findByTeam(id).map { p -> Row(p.id, p.tasks.size) }
        }
        """),
    bad(LAZY, "csharp", """
        class Orders {
            private readonly AppDb _db;
            public async Task<List<Row>> All() {
                var orders = await _db.Orders.Take(50).ToListAsync();
                return orders.Select(o => new Row(o.Id, o.Customer.Name)).ToList();
            }
        }
        """, 5),
    good(LAZY, "csharp", """
        class Orders {
            private readonly AppDb _db;
            public async Task<List<Row>> All() {
                var orders = await _db.Orders.Include(o => o.Customer).Take(50).ToListAsync();
                return orders.Select(o => new Row(o.Id, o.Customer.Name)).ToList();
            }
        }
        """),
]  # fmt: skip
