"""Requests inside transactions: what opens one, and what does not."""
# ruff: noqa: E101 - Go is written with tabs

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "request-in-transaction"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import requests
        from django.db import transaction

        def pay(order):
            with transaction.atomic():
                order.save()
                requests.post("https://pay", json=order.id, timeout=3)
            requests.post("https://mail", json=order.id, timeout=3)

        @transaction.atomic
        def close(order):
            order.save()
            requests.post("https://pay", json=order.id, timeout=3)

        def sold(session, order):
            with session.begin():
                session.add(order)
                requests.get("https://pay", timeout=3)

        def fine(order):
            receipt = requests.post("https://pay", json=order.id, timeout=3)
            with transaction.atomic():
                order.save()
            with open("x") as f:
                requests.post("https://pay", data=f, timeout=3)
        """,
        7,
        13,
        18,
    ),
    bad(
        _RULE,
        "typescript",
        """
        async function pay(order: Order) {
          await prisma.$transaction(async (tx) => {
            await tx.order.update({ where: { id: order.id }, data: { paid: true } });
            await axios.post("https://pay", order);
          });
          await knex.transaction(async (trx) => {
            await fetch("https://pay");
          });
          await axios.post("https://mail", order);
        }
        """,
        4,
        7,
    ),
    bad(
        _RULE,
        "go",
        """
        package a

        import (
        	"database/sql"
        	"net/http"
        )

        func Pay(db *sql.DB) error {
        	tx, err := db.Begin()
        	if err != nil {
        		return err
        	}
        	defer tx.Rollback()
        	tx.Exec("UPDATE orders SET paid = true")
        	http.Get("https://pay")
        	if err := tx.Commit(); err != nil {
        		return err
        	}
        	http.Get("https://mail")
        	return nil
        }

        func Stored(db *gorm.DB) error {
        	return db.Transaction(func(tx *gorm.DB) error {
        		http.Get("https://pay")
        		return nil
        	})
        }

        func Early(db *sql.DB) error {
        	http.Get("https://pay")
        	tx, err := db.Begin()
        	if err != nil {
        		return err
        	}
        	tx.Exec("UPDATE orders SET paid = true")
        	return tx.Commit()
        }
        """,
        15,
        25,
    ),
    bad(
        _RULE,
        "java",
        """
        class Payments {
            private final RestTemplate rest;

            @Transactional
            public void pay(Order order) {
                rest.postForObject("https://pay", order, Receipt.class);
                order.setPaid(true);
            }

            @Transactional(propagation = Propagation.NOT_SUPPORTED)
            public void charge(Order order) {
                rest.postForObject("https://pay", order, Receipt.class);
            }

            public void plain(Order order) {
                rest.postForObject("https://pay", order, Receipt.class);
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "python",
        """
        import requests
        from django.db import transaction

        def pay(order):
            with transaction.atomic():
                order.save()
                transaction.on_commit(lambda: requests.post("https://pay", json=order.id, timeout=3))
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        @Service
        @Transactional
        class Orders {
            private final RestTemplate rest;
            public void pay(Order order) {
                rest.postForObject("https://pay", order, Receipt.class);
            }
            void inner(Order order) {
                rest.postForObject("https://pay", order, Receipt.class);
            }
        }
        """,
        6,
    ),
    bad(
        _RULE,
        "java",
        """
        class Bills {
            private final TransactionTemplate transactions;
            private final RestTemplate rest;
            void pay(Order order) {
                transactions.execute(status -> rest.postForObject("https://pay", order, Receipt.class));
                rest.postForObject("https://mail", order, Receipt.class);
            }
        }
        """,
        5,
    ),
]
