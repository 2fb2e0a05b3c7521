"""Sizes of pages that a helper, a decorator or the arguments of a resolver give."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "unbounded-page-size",
        "python",
        """
        from flask import Blueprint, request, jsonify
        from .models import Ticket

        bp = Blueprint("tickets", __name__)

        def int_arg(name, default):
            try:
                return int(request.args.get(name, default))
            except ValueError:
                return default

        @bp.get("/tickets")
        def tickets():
            limit = int_arg("limit", 50)
            offset = int_arg("offset", 0)
            rows = Ticket.query.order_by(Ticket.id).limit(limit).offset(offset).all()
            return jsonify([row.to_dict() for row in rows])
        """,
        14,
    ),
    good(
        "unbounded-page-size",
        "python",
        """
        from flask import Blueprint, request, jsonify
        from .models import Ticket

        bp = Blueprint("tickets", __name__)

        def int_arg(name, default, highest):
            try:
                return min(int(request.args.get(name, default)), highest)
            except ValueError:
                return default

        @bp.get("/tickets")
        def tickets():
            limit = int_arg("limit", 50, 200)
            offset = int_arg("offset", 0, 10_000)
            rows = Ticket.query.order_by(Ticket.id).limit(limit).offset(offset).all()
            return jsonify([row.to_dict() for row in rows])
        """,
    ),
    bad(
        "unbounded-page-size",
        "go",
        """
        package api

        import (
        	"net/http"
        	"strconv"
        )

        func intParam(r *http.Request, name string, def int) int {
        	v, err := strconv.Atoi(r.URL.Query().Get(name))
        	if err != nil {
        		return def
        	}
        	return v
        }

        func (a *API) list(w http.ResponseWriter, r *http.Request) {
        	limit := intParam(r, "limit", 50)
        	rows, err := a.db.QueryContext(r.Context(), "SELECT id, name FROM products ORDER BY id LIMIT $1", limit)
        	if err != nil {
        		http.Error(w, "failed", 500)
        		return
        	}
        	defer rows.Close()
        	a.write(w, rows)
        }
        """,
        17,
    ),
    bad(
        "unbounded-page-size",
        "typescript",
        """
        import { prisma } from './db';

        interface FeedArgs { first?: number; after?: string }

        export const resolvers = {
          Query: {
            feed: async (_: unknown, args: FeedArgs) => {
              const take = args.first ?? 20;
              return prisma.activity.findMany({
                take,
                skip: args.after ? 1 : 0,
                cursor: args.after ? { id: args.after } : undefined,
                orderBy: { id: 'desc' },
              });
            },
          },
        };
        """,
        8,
    ),
    good(
        "unbounded-page-size",
        "typescript",
        """
        import { prisma } from './db';

        const MAX_PAGE = 100;
        interface FeedArgs { first?: number; after?: string }

        export const resolvers = {
          Query: {
            feed: async (_: unknown, args: FeedArgs) => {
              const take = Math.min(args.first ?? 20, MAX_PAGE);
              return prisma.activity.findMany({
                take,
                skip: args.after ? 1 : 0,
                cursor: args.after ? { id: args.after } : undefined,
                orderBy: { id: 'desc' },
              });
            },
          },
        };
        """,
    ),
    bad(
        "unbounded-page-size",
        "typescript",
        """
        import { Controller, Get, Query } from '@nestjs/common';
        import { Repository } from 'typeorm';
        import { InjectRepository } from '@nestjs/typeorm';
        import { Ticket } from './ticket.entity';

        @Controller('tickets')
        export class TicketsController {
          constructor(@InjectRepository(Ticket) private readonly tickets: Repository<Ticket>) {}

          @Get()
          list(@Query('limit') limit = '50', @Query('offset') offset = '0') {
            return this.tickets.find({ take: Number(limit), skip: Number(offset), order: { id: 'ASC' } });
          }
        }
        """,
        11,
    ),
    bad(
        "acknowledged-before-work",
        "kotlin",
        """
        package shop.consume

        import org.apache.kafka.clients.consumer.KafkaConsumer
        import java.time.Duration

        fun consume(consumer: KafkaConsumer<String, String>, handler: Handler) {
            while (!Thread.currentThread().isInterrupted) {
                val records = consumer.poll(Duration.ofMillis(500))
                consumer.commitSync()
                records.forEach { handler.handle(it.value()) }
            }
        }
        """,
        9,
    ),
    bad(
        "write-per-row",
        "kotlin",
        """
        package shop.imports

        import org.jetbrains.exposed.sql.*
        import org.jetbrains.exposed.sql.transactions.transaction
        import java.io.File

        object Products : Table("products") {
            val sku = varchar("sku", 40)
            val name = text("name")
        }

        fun importFile(file: File) {
            transaction {
                file.forEachLine { line ->
                    val parts = line.split(";")
                    Products.insert {
                        it[sku] = parts[0]
                        it[name] = parts[1]
                    }
                }
            }
        }
        """,
        16,
    ),
    good(
        "write-per-row",
        "kotlin",
        """
        package shop.imports

        import org.jetbrains.exposed.sql.*
        import org.jetbrains.exposed.sql.transactions.transaction
        import java.io.File

        object Products : Table("products") {
            val sku = varchar("sku", 40)
            val name = text("name")
        }

        fun importFile(file: File) {
            file.useLines { lines ->
                lines.map { it.split(";") }.chunked(500).forEach { batch ->
                    transaction {
                        Products.batchInsert(batch, shouldReturnGeneratedValues = false) { parts ->
                            this[Products.sku] = parts[0]
                            this[Products.name] = parts[1]
                        }
                    }
                }
            }
        }
        """,
    ),
    bad(
        "write-per-row",
        "java",
        """
        package shop.db;

        import org.springframework.scheduling.annotation.Scheduled;
        import org.springframework.stereotype.Component;
        import java.time.*;

        @Component
        public class TokenCleanup {
            private final TokenRepository tokens;
            TokenCleanup(TokenRepository tokens) { this.tokens = tokens; }

            @Scheduled(cron = "0 0 3 * * *")
            public void clean() {
                for (Token token : tokens.findByExpiresAtBefore(Instant.now())) {
                    tokens.delete(token);
                }
            }
        }
        """,
        15,
    ),
    bad(
        "call-per-item",
        "kotlin",
        """
        package shop.orders

        import org.springframework.stereotype.Service

        @Service
        class Overview(private val orders: OrderRepository, private val customers: CustomerRepository) {
            fun page(number: Int): List<Row> =
                orders.findPage(number, 100).map { order ->
                    val customer = customers.findById(order.customerId).orElseThrow()
                    Row(order.id, customer.name)
                }
        }
        """,
        9,
    ),
]
