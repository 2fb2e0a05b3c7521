"""Answers that say in their words that something failed: JavaScript and TypeScript."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "error-answered-as-success",
        "javascript",
        """
    const express = require('express');
    const router = express.Router();
    router.get('/stock/:sku', async (req, res) => {
      try {
        const level = await warehouse.level(req.params.sku);
        res.json({ level });
      } catch (err) {
        logger.error({ err }, 'stock failed');
        res.json({ message: 'warehouse unavailable' });
      }
    });
    """,
        9,
    ),
    bad(
        "error-answered-as-success",
        "javascript",
        """
    const express = require('express');
    const router = express.Router();
    router.post('/refunds', async (req, res) => {
      try {
        const refund = await gateway.refund(req.body.id);
        res.status(201).json({ id: refund.id, status: 'done' });
      } catch (err) {
        logger.error({ err }, 'refund failed');
        res.status(200).json({ status: 'failed', reason: err.message });
      }
    });
    """,
        9,
    ),
    bad(
        "error-answered-as-success",
        "javascript",
        """
    module.exports = async function (fastify) {
      fastify.get('/stock/:sku', async (request, reply) => {
        try {
          return { level: await warehouse.level(request.params.sku) };
        } catch (err) {
          request.log.error(err);
          return { message: 'warehouse unavailable' };
        }
      });
    };
    """,
        7,
    ),
    bad(
        "error-answered-as-success",
        "javascript",
        """
    router.get('/stock/:sku', async (ctx) => {
      try {
        ctx.body = { level: await warehouse.level(ctx.params.sku) };
      } catch (err) {
        ctx.log.error(err);
        ctx.body = { message: 'warehouse unavailable' };
      }
    });
    """,
        6,
    ),
    bad(
        "error-answered-as-success",
        "javascript",
        """
    app.use((err, req, res, next) => {
      logger.error({ err }, 'unhandled');
      res.json({ message: 'internal error' });
    });
    """,
        3,
    ),
    bad(
        "error-answered-as-success",
        "javascript",
        """
    exports.handler = async (event) => {
      try {
        const order = await orders.create(JSON.parse(event.body));
        return { statusCode: 201, body: JSON.stringify(order) };
      } catch (err) {
        console.error(err);
        return { statusCode: 200, body: JSON.stringify({ message: 'order failed' }) };
      }
    };
    """,
        7,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
    import { Controller, Get, Param, Logger } from '@nestjs/common';
    @Controller('stock')
    export class StockController {
      private readonly logger = new Logger(StockController.name);
      constructor(private readonly warehouse: WarehouseService) {}
      @Get(':sku')
      async level(@Param('sku') sku: string): Promise<StockAnswer> {
        try {
          return { level: await this.warehouse.level(sku) };
        } catch (err) {
          this.logger.error(`stock of ${sku}`, err);
          return { level: 0, message: 'warehouse unavailable' };
        }
      }
    }
    """,
        12,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
    import { ArgumentsHost, Catch, ExceptionFilter } from '@nestjs/common';
    import { Response } from 'express';
    @Catch()
    export class AllErrors implements ExceptionFilter {
      catch(exception: unknown, host: ArgumentsHost) {
        const res = host.switchToHttp().getResponse<Response>();
        this.logger.error(exception);
        res.json({ message: 'internal error' });
      }
    }
    """,
        8,
    ),
    good(
        "error-answered-as-success",
        "typescript",
        """
    import { ArgumentsHost, Catch, ExceptionFilter } from '@nestjs/common';
    import { Response } from 'express';
    @Catch()
    export class AllErrors implements ExceptionFilter {
      catch(exception: unknown, host: ArgumentsHost) {
        const res = host.switchToHttp().getResponse<Response>();
        this.logger.error(exception);
        const status = exception instanceof HttpException ? exception.getStatus() : 500;
        res.status(status).json({ message: 'internal error' });
      }
    }
    """,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
    import { Hono } from 'hono';
    const app = new Hono();
    app.get('/stock/:sku', async (c) => {
      try {
        return c.json({ level: await warehouse.level(c.req.param('sku')) });
      } catch (err) {
        console.error(err);
        return c.json({ message: 'warehouse unavailable' });
      }
    });
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
    import { NextResponse } from 'next/server';
    export async function GET(req: Request) {
      try {
        const stock = await warehouse.level(new URL(req.url).searchParams.get('sku')!);
        return NextResponse.json({ stock });
      } catch (err) {
        console.error(err);
        return NextResponse.json({ message: 'warehouse unavailable' });
      }
    }
    """,
        8,
    ),
    good(
        "error-answered-as-success",
        "typescript",
        """
    import { Router } from 'express';
    const router = Router();
    router.get('/recommendations', async (req, res) => {
      try {
        res.json({ items: await recommender.forUser(req.user.id) });
      } catch (err) {
        logger.warn({ err }, 'recommender unavailable, using best sellers');
        res.json({ items: await bestSellers.top(10) });
      }
    });
    """,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
    import { Hono } from 'hono';
    const app = new Hono();
    app.onError((err, c) => {
      console.error(err);
      return c.json({ message: 'internal error' });
    });
    """,
        5,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
    import Fastify from 'fastify';
    const app = Fastify();
    app.setErrorHandler((error, request, reply) => {
      request.log.error(error);
      reply.send({ message: 'internal error' });
    });
    """,
        5,
    ),
]
