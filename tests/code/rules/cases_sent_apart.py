"""Requests, messages and jobs inside transactions, and messages apart from the data that they are about."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

REQUEST = "request-in-transaction"
APART = "message-apart-from-data"

CASES = [
    bad(REQUEST, "java", """
        class Dispatch {
            private final Parcels parcels;
            private final CarrierGateway carrier;
            Dispatch(Parcels rows, CarrierGateway carrier) { this.parcels = rows; this.carrier = carrier; }
            @Transactional
            public void send(long id) {
                Parcel parcel = parcels.lock(id);
                parcel.label(carrier.order(parcel.ref()));
            }
        }
        """, 8),
    good(REQUEST, "java", """
        class Dispatch {
            private final CarrierGateway carrier;
            private final Store store;
            Dispatch(CarrierGateway carrier, Store store) { this.carrier = carrier; this.store = store; }
            public void send(long id) { store.label(id, carrier.order(id)); }
            @Transactional
            public void note(long id) { store.mark(id); }
        }
        """),
    good(REQUEST, "java", """
        class Cache {
            private final RedisClient redis;
            Cache(RedisClient redis) { this.redis = redis; }
            @Transactional
            public void put(long id) { redis.store(id); }
        }
        """),
    bad(REQUEST, "kotlin", """
        class Dispatch(private val parcels: Parcels, private val carrier: CarrierApi) {
            @Transactional
            fun send(id: Long) {
                val parcel = parcels.lock(id)
                carrier.order(parcel.ref)
            }
        }
        """, 5),
    bad(REQUEST, "kotlin", """
        import org.jetbrains.exposed.sql.transactions.transaction
        class Dispatch(private val carrier: CarrierClient) {
            fun send(id: Long) {
                transaction {
                    Parcels.update({ Parcels.id eq id }) { it[state] = 1 }
                    carrier.order(id)
                }
            }
        }
        """, 6),
    bad(REQUEST, "csharp", """
        class Dispatch {
            private readonly AppDb _db;
            private readonly ICarrierClient _carrier;
            public async Task Send(long id, CancellationToken ct) {
                await using var tx = await _db.Database.BeginTransactionAsync(ct);
                var parcel = await _db.Parcels.SingleAsync(x => x.Id == id, ct);
                await _carrier.OrderAsync(parcel.Ref, ct);
                await _db.SaveChangesAsync(ct);
                await tx.CommitAsync(ct);
            }
        }
        """, 7),
    good(REQUEST, "csharp", """
        class Dispatch {
            private readonly AppDb _db;
            private readonly ICarrierClient _carrier;
            public async Task Send(long id, CancellationToken ct) {
                await _carrier.OrderAsync(id, ct);
                await using var tx = await _db.Database.BeginTransactionAsync(ct);
                await _db.SaveChangesAsync(ct);
                await tx.CommitAsync(ct);
                await _carrier.ConfirmAsync(id, ct);
            }
        }
        """),
    bad(REQUEST, "rust", """
        struct Dispatch { pool: sqlx::PgPool, http: reqwest::Client }
        impl Dispatch {
            async fn send(&self, id: i64) -> anyhow::Result<()> {
                let mut tx = self.pool.begin().await?;
                sqlx::query("UPDATE parcel SET sent = true WHERE id = $1").bind(id).execute(&mut *tx).await?;
                self.http.post("https://carrier/labels").send().await?;
                tx.commit().await?;
                Ok(())
            }
        }
        """, 6),
    bad(REQUEST, "go", """
        package a
        import ("context"; "github.com/jackc/pgx/v5"; "github.com/jackc/pgx/v5/pgxpool")
        type CarrierClient interface{ Order(ctx context.Context, id int64) error }
        type S struct { pool *pgxpool.Pool; carrier CarrierClient }
        func (s *S) Send(ctx context.Context, id int64) error {
            return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
                if _, err := tx.Exec(ctx, "UPDATE parcel SET sent = true WHERE id = $1", id); err != nil {
                    return err
                }
                return s.carrier.Order(ctx, id)
            })
        }
        """, 10),
    bad(REQUEST, "typescript", """
        import { CarrierClient } from './carrier';
        export class Dispatch {
          constructor(private readonly carrier: CarrierClient, private readonly dataSource: DataSource) {}
          async send(id: string) {
            await this.dataSource.transaction(async (em) => {
              const parcel = await em.findOneByOrFail(Parcel, { id });
              parcel.label = await this.carrier.order(parcel.ref);
              await em.save(parcel);
            });
          }
        }
        """, 7),
    bad(REQUEST, "python", """
        from django.db import transaction
        from carriers import CarrierClient
        class Dispatch:
            def __init__(self, carrier: CarrierClient):
                self.carrier = carrier
            def send(self, parcel):
                with transaction.atomic():
                    parcel.save()
                    self.carrier.order(parcel.ref)
        """, 9),
    # Messages and jobs.
    bad(APART, "python", """
        from django.db import transaction
        def book(slot):
            with transaction.atomic():
                booking = Booking.objects.create(slot=slot)
                send_mail.delay(booking.pk)
        """, 5),
    good(APART, "python", """
        from django.db import transaction
        def book(slot):
            with transaction.atomic():
                booking = Booking.objects.create(slot=slot)
                transaction.on_commit(lambda: send_mail.delay(booking.pk))
        """),
    good(APART, "python", """
        from django.db import transaction
        def book(slot):
            with transaction.atomic():
                booking = Booking.objects.create(slot=slot)
            send_mail.delay(booking.pk)
        """),
    bad(APART, "kotlin", """
        import org.springframework.kafka.core.KafkaTemplate
        class Orders(private val rows: OrderRepository, private val kafka: KafkaTemplate<String, Placed>) {
            fun place(order: Order) {
                rows.save(order)
                kafka.send("orders", order.id, Placed(order.id))
            }
        }
        """, 5),
    good(APART, "kotlin", """
        import org.springframework.kafka.core.KafkaTemplate
        class Relay(private val outbox: OutboxRepository, private val kafka: KafkaTemplate<String, String>) {
            fun relay() {
                outbox.findUnsent().forEach { kafka.send("orders", it.key, it.body).get(); outbox.done(it) }
            }
        }
        """),
    bad(APART, "java", """
        import org.springframework.amqp.rabbit.core.RabbitTemplate;
        class Orders {
            private final OrderRepository rows;
            private final RabbitTemplate rabbit;
            @Transactional
            public void place(Order order) {
                rows.save(order);
                rabbit.convertAndSend("orders", order.id());
            }
        }
        """, 8),
    good(APART, "java", """
        import org.springframework.context.ApplicationEventPublisher;
        class Orders {
            private final OrderRepository rows;
            private final ApplicationEventPublisher events;
            @Transactional
            public void place(Order order) {
                rows.save(order);
                events.publishEvent(new Placed(order.id()));
            }
        }
        """),
    bad(APART, "typescript", """
        export class Orders {
          constructor(private readonly prisma: PrismaClient, private readonly mails: Queue) {}
          async place(order: Order) {
            await this.prisma.$transaction(async (tx) => {
              await tx.order.create({ data: order });
              await this.mails.add('placed', { id: order.id });
            });
          }
        }
        """, 6),
    bad(APART, "csharp", """
        class Orders {
            private readonly AppDb _db;
            private readonly IProducer<string, string> _producer;
            public async Task Place(Order order) {
                _db.Orders.Add(order);
                await _db.SaveChangesAsync();
                await _producer.ProduceAsync("orders", new Message<string, string> { Value = order.Id });
            }
        }
        """, 7),
    good(APART, "csharp", """
        class Relay {
            private readonly IProducer<string, string> _producer;
            public async Task Send(Order order) {
                await _producer.ProduceAsync("orders", new Message<string, string> { Value = order.Id });
            }
        }
        """),
    bad(APART, "go", """
        package a
        import ("context"; "database/sql"; "github.com/segmentio/kafka-go")
        type S struct { db *sql.DB; events *kafka.Writer }
        func (s *S) Place(ctx context.Context, id string) error {
            if _, err := s.db.ExecContext(ctx, "INSERT INTO orders (id) VALUES ($1)", id); err != nil {
                return err
            }
            return s.events.WriteMessages(ctx, kafka.Message{Key: []byte(id)})
        }
        """, 8),
    good(APART, "go", """
        package a
        import ("context"; "database/sql"; "github.com/segmentio/kafka-go")
        type S struct { db *sql.DB; events *kafka.Writer }
        func (s *S) Read(ctx context.Context, id string) error {
            row := s.db.QueryRowContext(ctx, "SELECT body FROM orders WHERE id = $1", id)
            var body []byte
            if err := row.Scan(&body); err != nil { return err }
            return s.events.WriteMessages(ctx, kafka.Message{Value: body})
        }
        """),
]  # fmt: skip
