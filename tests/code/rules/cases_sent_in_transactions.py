"""Mail, messages and requests that a transaction reaches through functions of the text."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_REQUEST = "request-in-transaction"
_MESSAGE = "message-apart-from-data"

CASES = [
    bad(
        _REQUEST,
        "python",
        """
        import smtplib
        from functools import partial
        from django.db import transaction

        def confirm(to):
            with smtplib.SMTP("smtp", timeout=10) as smtp:
                smtp.send_message(letter(to))

        def reserve(boat):
            with transaction.atomic():
                boat.save()
                notify = partial(confirm, boat.owner)
                notify()
        """,
        13,
    ),
    good(
        _REQUEST,
        "python",
        """
        import smtplib
        from functools import partial
        from django.db import transaction

        def confirm(to):
            with smtplib.SMTP("smtp", timeout=10) as smtp:
                smtp.send_message(letter(to))

        def reserve(boat):
            with transaction.atomic():
                boat.save()
                notify = partial(confirm, boat.owner)
                transaction.on_commit(notify)
        """,
    ),
    bad(
        _REQUEST,
        "go",
        """
        import ("database/sql"; "net/smtp")

        func (s *Store) Book(b Booking) error {
            tx, err := s.db.Begin()
            if err != nil {
                return err
            }
            defer tx.Rollback()
            if err := s.confirm(b); err != nil {
                return err
            }
            return tx.Commit()
        }

        func (s *Store) confirm(b Booking) error {
            return smtp.SendMail("smtp:587", nil, "a@b", []string{b.Email}, nil)
        }
        """,
        9,
    ),
    bad(
        _REQUEST,
        "typescript",
        """
        export class Awards {
          constructor(private readonly sequelize: Sequelize, private readonly mailer: Transporter) {}

          async grant(id: number) {
            return this.sequelize.transaction(async (transaction) => {
              const award = await Award.create({ id }, { transaction });
              await this.notify(award, transaction);
            });
          }

          private async notify(award: Award, transaction: Transaction) {
            await this.mailer.sendMail({ to: award.email });
          }
        }
        """,
        7,
    ),
    bad(
        _REQUEST,
        "kotlin",
        """
        class Bidding(private val tx: TransactionalOperator, private val events: BidEvents) {
            suspend fun place(bid: Bid) {
                tx.executeAndAwait {
                    insert(bid)
                    announce(bid)
                }
            }

            private suspend fun announce(bid: Bid) {
                withTimeoutOrNull(10_000) { events.placed(bid) }
            }
        }
        """,
        5,
    ),
    good(
        _REQUEST,
        "kotlin",
        """
        class Bidding(private val tx: TransactionalOperator, private val bids: BidRepository) {
            suspend fun place(bid: Bid) {
                tx.executeAndAwait {
                    insert(bid)
                }
            }

            private suspend fun insert(bid: Bid) {
                withTimeout(10_000) { bids.placed(bid) }
            }
        }
        """,
    ),
    bad(
        _MESSAGE,
        "java",
        """
        import org.springframework.kafka.core.KafkaTemplate;

        class Orders {
            private final OrderRepository orders;
            private final KafkaTemplate<String, String> kafka;

            @Transactional
            public void place(Order order) {
                orders.save(order);
                announce(order);
            }

            private void announce(Order order) {
                kafka.send("orders", order.id());
            }
        }
        """,
        10,
    ),
]
