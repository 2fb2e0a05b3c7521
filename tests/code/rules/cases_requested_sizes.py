"""Sizes of pages that are fields of what a request is read into, of schemas and of helpers."""

# ruff: noqa: E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "unbounded-page-size",
        "python",
        """
        from flask import Flask, request, jsonify
        from db import session, Event
        app = Flask(__name__)

        def paging():
            page = max(int(request.args.get("page", 1)), 1)
            per_page = max(int(request.args.get("per_page", 25)), 1)
            return page, per_page

        @app.get("/events")
        def events():
            page, per_page = paging()
            rows = session.query(Event).order_by(Event.id).limit(per_page).offset((page - 1) * per_page).all()
            return jsonify([r.as_dict() for r in rows])
        """,
        7,
    ),
    bad(
        "unbounded-page-size",
        "python",
        """
        from typing import Annotated
        from fastapi import APIRouter, Depends, Query
        from pydantic import BaseModel, Field
        from sqlalchemy import select
        from app.db import Session, get_session
        from app.models import Shipment

        router = APIRouter()

        class ShipmentFilter(BaseModel):
            status: str | None = Field(None, max_length=20)
            after: int = Field(0, ge=0)
            limit: int = Field(50, ge=1)

        @router.get("/shipments")
        async def list_shipments(params: Annotated[ShipmentFilter, Query()], session: Annotated[Session, Depends(get_session)]):
            stmt = select(Shipment).where(Shipment.id > params.after).order_by(Shipment.id).limit(params.limit)
            return (await session.scalars(stmt)).all()
        """,
        17,
    ),
    good(
        "unbounded-page-size",
        "python",
        """
        from typing import Annotated
        from fastapi import APIRouter, Depends, Query
        from pydantic import BaseModel, Field
        from sqlalchemy import select
        from app.db import Session, get_session
        from app.models import Shipment

        router = APIRouter()

        class ShipmentFilter(BaseModel):
            status: str | None = Field(None, max_length=20)
            after: int = Field(0, ge=0)
            limit: int = Field(50, ge=1, le=200)

        @router.get("/shipments")
        async def list_shipments(params: Annotated[ShipmentFilter, Query()], session: Annotated[Session, Depends(get_session)]):
            stmt = select(Shipment).where(Shipment.id > params.after).order_by(Shipment.id).limit(params.limit)
            return (await session.scalars(stmt)).all()
        """,
    ),
    bad(
        "unbounded-page-size",
        "python",
        """
        from typing import Annotated
        from fastapi import APIRouter, Query
        from app.db import pool

        router = APIRouter()
        MAX_RANGE_DAYS = 31

        @router.get("/readings")
        async def readings(sensor: str, limit: Annotated[int, Query(ge=1)] = 100):
            async with pool.acquire() as conn:
                rows = await conn.fetch("SELECT * FROM readings WHERE sensor = $1 ORDER BY at DESC LIMIT $2", sensor, limit)
            return [dict(r) for r in rows]
        """,
        9,
    ),
    bad(
        "unbounded-page-size",
        "python",
        """
        from rest_framework import viewsets
        from rest_framework.pagination import PageNumberPagination
        from .models import Invoice
        from .serializers import InvoiceSerializer

        class InvoicePagination(PageNumberPagination):
            page_size = 50
            page_size_query_param = "page_size"

        class InvoiceViewSet(viewsets.ReadOnlyModelViewSet):
            queryset = Invoice.objects.order_by("id")
            serializer_class = InvoiceSerializer
            pagination_class = InvoicePagination
        """,
        8,
    ),
    good(
        "unbounded-page-size",
        "python",
        """
        from rest_framework import viewsets
        from rest_framework.pagination import PageNumberPagination
        from .models import Invoice
        from .serializers import InvoiceSerializer

        class InvoicePagination(PageNumberPagination):
            page_size = 50
            page_size_query_param = "page_size"
            max_page_size = 200

        class InvoiceViewSet(viewsets.ReadOnlyModelViewSet):
            queryset = Invoice.objects.order_by("id")
            serializer_class = InvoiceSerializer
            pagination_class = InvoicePagination
        """,
    ),
    bad(
        "unbounded-page-size",
        "javascript",
        """
        const express = require('express');
        const { Op } = require('sequelize');
        const { Booking } = require('./models');
        const router = express.Router();
        router.get('/bookings', async (req, res, next) => {
          try {
            const { after = 0, limit = 50 } = req.query;
            const rows = await Booking.findAll({
              where: { id: { [Op.gt]: Number(after) } },
              order: [['id', 'ASC']],
              limit: Number(limit),
            });
            res.json({ rows, more: rows.length === Number(limit) });
          } catch (err) {
            next(err);
          }
        });
        module.exports = router;
        """,
        7,
    ),
    bad(
        "unbounded-page-size",
        "javascript",
        """
        const express = require('express');
        const router = express.Router();
        const MAX_NAME_LENGTH = 80;
        router.get('/stations', async (req, res, next) => {
          try {
            const name = String(req.query.name || '').slice(0, MAX_NAME_LENGTH);
            const pageSize = Math.max(1, Number.parseInt(req.query.pageSize, 10) || 25);
            const { rows } = await req.app.locals.pool.query('SELECT id, name FROM stations WHERE name LIKE $1 ORDER BY id LIMIT $2', [`${name}%`, pageSize]);
            res.json(rows);
          } catch (err) {
            next(err);
          }
        });
        module.exports = router;
        """,
        7,
    ),
    good(
        "unbounded-page-size",
        "javascript",
        """
        const express = require('express');
        const router = express.Router();
        const MAX_PAGE = 100;
        router.get('/stations', async (req, res, next) => {
          try {
            const pageSize = Math.min(Math.max(1, Number.parseInt(req.query.pageSize, 10) || 25), MAX_PAGE);
            const { rows } = await req.app.locals.pool.query('SELECT id, name FROM stations ORDER BY id LIMIT $1', [pageSize]);
            res.json(rows);
          } catch (err) {
            next(err);
          }
        });
        module.exports = router;
        """,
    ),
    bad(
        "unbounded-page-size",
        "javascript",
        """
        const { z } = require('zod');
        const listQuery = z.object({
          q: z.string().max(100).optional(),
          cursor: z.coerce.number().int().min(0).default(0),
          limit: z.coerce.number().int().min(1).default(20),
        });
        module.exports = async function routes(fastify) {
          fastify.get('/articles', async (request) => {
            const { q, cursor, limit } = listQuery.parse(request.query);
            return fastify.knex('articles').where('id', '>', cursor).modify((b) => { if (q) b.whereILike('title', `%${q}%`); }).orderBy('id').limit(limit);
          });
        };
        """,
        5,
    ),
    good(
        "unbounded-page-size",
        "javascript",
        """
        const { z } = require('zod');
        const listQuery = z.object({
          q: z.string().max(100).optional(),
          cursor: z.coerce.number().int().min(0).default(0),
          limit: z.coerce.number().int().min(1).max(100).default(20),
        });
        module.exports = async function routes(fastify) {
          fastify.get('/articles', async (request) => {
            const { q, cursor, limit } = listQuery.parse(request.query);
            return fastify.knex('articles').where('id', '>', cursor).modify((b) => { if (q) b.whereILike('title', `%${q}%`); }).orderBy('id').limit(limit);
          });
        };
        """,
    ),
    bad(
        "unbounded-page-size",
        "typescript",
        """
        import type { FastifyInstance } from "fastify";
        import { db } from "./db";
        const querystring = {
          type: "object",
          properties: {
            station: { type: "string", maxLength: 20 },
            limit: { type: "integer", minimum: 1, default: 50 },
          },
        } as const;
        export async function routes(app: FastifyInstance) {
          app.get<{ Querystring: { station?: string; limit: number } }>("/readings", { schema: { querystring } }, async (request) => {
            return db.selectFrom("reading").selectAll().orderBy("id").limit(request.query.limit).execute();
          });
        }
        """,
        7,
    ),
    bad(
        "unbounded-page-size",
        "typescript",
        """
        import { NextRequest, NextResponse } from "next/server";
        import { prisma } from "@/lib/prisma";
        export async function GET(request: NextRequest) {
          const params = request.nextUrl.searchParams;
          const take = Number(params.get("limit") ?? "30");
          const cursor = params.get("cursor");
          const posts = await prisma.post.findMany({
            take,
            ...(cursor ? { skip: 1, cursor: { id: cursor } } : {}),
            orderBy: { id: "desc" },
          });
          return NextResponse.json({ posts });
        }
        """,
        5,
    ),
    good(
        "unbounded-page-size",
        "typescript",
        """
        import { Controller, Get, Query } from "@nestjs/common";
        import { Type } from "class-transformer";
        import { IsInt, Max, Min } from "class-validator";
        export class ListQuery {
          @Type(() => Number)
          @IsInt()
          @Min(1)
          @Max(100)
          limit: number = 20;
        }
        @Controller("rooms")
        export class RoomsController {
          constructor(private readonly rooms: RoomsService) {}
          @Get()
          list(@Query() query: ListQuery) {
            return this.rooms.list(query.limit);
          }
        }
        """,
    ),
]
