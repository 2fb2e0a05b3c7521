"""Relations that helpers read for each row, pages cut in memory, packed bodies, and ages that nothing ends."""

# ruff: noqa: E101, E501  (snippets of Go; lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LAZY = "lazy-relation-in-loop"
_MODELS = """
        from sqlalchemy import select
        from sqlalchemy.orm import Mapped, relationship, selectinload
        class Order(Base):
            lines: Mapped[list["Line"]] = relationship()
        class Line(Base):
            product: Mapped[Product] = relationship()
            def as_dict(self):
                return {"sku": self.product.sku}
        def render(line):
            return {"sku": line.product.sku}
"""
_ENTITY = """
        @Entity
        class Device {
            String serial;
            @OneToOne(fetch = FetchType.LAZY, optional = false)
            @JoinColumn(name = "certificate_id")
            Certificate certificate;
        }
        interface DeviceRepository extends JpaRepository<Device, Long> {
            FETCH
            Slice<Device> findByFleetId(long fleetId, Pageable page);
        }
        class DeviceListing {
            private final DeviceRepository devices;
            List<View> list(long fleetId, Pageable request) {
                Slice<Device> slice = devices.findByFleetId(fleetId, request);
                return slice.getContent().stream().map(this::view).toList();
            }
            private View view(Device device) {
                return new View(device.serial, device.certificate.fingerprint);
            }
        }
"""

CASES = [
    bad(
        _LAZY,
        "python",
        f"""{_MODELS}
        def pick_list(session):
            orders = session.scalars(select(Order).options(selectinload(Order.lines)).limit(50)).all()
            return [[render(line) for line in order.lines] for order in orders]
        def lines(session):
            found = session.scalars(select(Line).limit(50)).all()
            return [line.as_dict() for line in found]
        """,
        8,
        10,
    ),
    good(
        _LAZY,
        "python",
        f"""{_MODELS}
        def pick_list(session):
            query = select(Order).options(selectinload(Order.lines).selectinload(Line.product)).limit(50)
            orders = session.scalars(query).all()
            return [[render(line) for line in order.lines] for order in orders]
        def lines(session):
            found = session.scalars(select(Line).options(selectinload(Line.product)).limit(50)).all()
            return [line.as_dict() for line in found]
        """,
    ),
    bad(_LAZY, "java", _ENTITY.replace("FETCH", ""), 19),
    good(_LAZY, "java", _ENTITY.replace("FETCH", '@EntityGraph(attributePaths = "certificate")')),
    bad(
        _LAZY,
        "kotlin",
        """
        import org.jetbrains.exposed.dao.LongEntity
        class Alert(id: EntityID<Long>) : LongEntity(id) {
            var rule by Rule referencedOn Alerts.rule
            var state by Alerts.state
        }
        class Queries {
            fun open(): List<Row> = Alert.find { Alerts.state eq "open" }.limit(50).map(::toRow)
            private fun toRow(alert: Alert) = Row(alert.state, alert.rule.name)
        }
        """,
        8,
    ),
    good(
        _LAZY,
        "kotlin",
        """
        import org.jetbrains.exposed.dao.LongEntity
        class Alert(id: EntityID<Long>) : LongEntity(id) {
            var rule by Rule referencedOn Alerts.rule
        }
        class Queries {
            fun open(): List<Row> = Alert.find { Alerts.state eq "open" }.limit(50).with(Alert::rule).map(::toRow)
            private fun toRow(alert: Alert) = Row(alert.rule.name)
        }
        """,
    ),
    bad(
        "filtered-after-loading",
        "csharp",
        """
        class Movements
        {
            async Task<List<View>> List(int warehouseId, int size)
            {
                var query = _db.StockMovements.Where(m => m.WarehouseId == warehouseId);
                var found = await query.Select(m => new View(m.Id)).ToListAsync();
                return found.OrderByDescending(m => m.Id).Take(size).ToList();
            }
            async Task Redeliver(CancellationToken ct)
            {
                List<Delivery> waiting = await db.Deliveries.Where(d => d.State == State.Failed).ToListAsync(ct);
                List<Delivery> batch = waiting.OrderBy(d => d.At).Take(200).ToList();
            }
        }
        """,
        6,
        11,
    ),
    good(
        "filtered-after-loading",
        "csharp",
        """
        class Movements
        {
            async Task<List<View>> List(int warehouseId, int size)
            {
                var query = _db.StockMovements.Where(m => m.WarehouseId == warehouseId).Take(500);
                var found = await query.Select(m => new View(m.Id)).ToListAsync();
                return found.OrderByDescending(m => m.Weight).Take(size).ToList();
            }
        }
        """,
    ),
    bad(
        "whole-file-loaded",
        "go",
        """
        package ingest
        import ("compress/gzip"; "io"; "net/http")
        func Handler(w http.ResponseWriter, r *http.Request) {
        	samples, err := decode(http.MaxBytesReader(w, r.Body, 1<<20))
        	respond(w, samples, err)
        }
        func decode(body io.Reader) ([]byte, error) {
        	zr, err := gzip.NewReader(body)
        	if err != nil {
        		return nil, err
        	}
        	defer zr.Close()
        	return io.ReadAll(zr)
        }
        """,
        13,
    ),
    good(
        "whole-file-loaded",
        "go",
        """
        package ingest
        import ("compress/gzip"; "io"; "net/http")
        func decode(r *http.Request) ([]byte, error) {
        	zr, err := gzip.NewReader(r.Body)
        	if err != nil {
        		return nil, err
        	}
        	defer zr.Close()
        	return io.ReadAll(io.LimitReader(zr, 8<<20))
        }
        """,
    ),
    bad(
        "whole-file-loaded",
        "rust",
        """
        use flate2::read::GzDecoder;
        use std::io::Read;
        fn inflate(body: &[u8]) -> std::io::Result<Vec<u8>> {
            let mut decoder = GzDecoder::new(body);
            let mut out = Vec::new();
            decoder.read_to_end(&mut out)?;
            Ok(out)
        }
        """,
        6,
    ),
    bad(
        "catastrophic-expression",
        "javascript",
        """
        const schema = {
          properties: {
            company: { type: 'string', pattern: '^([A-Za-z0-9]+[ .&-]?)+$' },
            country: { type: 'string', pattern: '^[A-Z]{2}$' },
          },
        };
        """,
        3,
    ),
    bad(
        "catastrophic-expression",
        "java",
        """
        record Address(@Pattern(regexp = "([a-z]+ ?)+") String street, @Pattern(regexp = "[A-Z]{2}") String country) {}
        """,
        1,
    ),
    bad(
        "unbounded-cache",
        "javascript",
        """
        class TokenIntrospector {
          constructor() {
            this.results = new Map();
          }
          async check(token) {
            const key = hash(token);
            const known = this.results.get(key);
            if (known && known.expiresAt > Date.now()) return known.claims;
            if (known) this.results.delete(key);
            const claims = await this.introspect(token);
            this.results.set(key, { claims, expiresAt: Date.now() + MAX_AGE_MS });
            return claims;
          }
        }
        """,
        3,
    ),
    good(
        "unbounded-cache",
        "javascript",
        """
        class TokenIntrospector {
          constructor() {
            this.results = new Map();
            setInterval(() => this.sweep(), 60_000).unref();
          }
          sweep() {
            for (const [key, known] of this.results) {
              if (known.expiresAt <= Date.now()) this.results.delete(key);
            }
          }
          async check(token) {
            const key = hash(token);
            const known = this.results.get(key);
            if (known && known.expiresAt > Date.now()) return known.claims;
            const claims = await this.introspect(token);
            this.results.set(key, { claims, expiresAt: Date.now() + MAX_AGE_MS });
            return claims;
          }
        }
        """,
    ),
]
