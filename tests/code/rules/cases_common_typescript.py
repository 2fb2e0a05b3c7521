"""Defects as services in TypeScript have them."""

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "error-answered-as-success",
        "typescript",
        """
        import { Request, Response } from "express";
        export async function getOrders(req: Request, res: Response): Promise<void> {
          try {
            const orders = await orderService.list();
            res.status(200).json({ orders });
          } catch (err) {
            console.error(err);
            res.status(200).json({ error: "could not load orders" });
          }
        }
    """,
        8,
    ),
    bad(
        "secret-in-log",
        "typescript",
        """
        @Injectable()
        export class AuthService {
          private readonly logger = new Logger(AuthService.name);
          async login(dto: LoginDto) {
            this.logger.log(`login attempt ${JSON.stringify(dto)} password=${dto.password}`);
            return this.users.verify(dto.email, dto.password);
          }
        }
    """,
        5,
    ),
    bad(
        "catastrophic-expression",
        "typescript",
        r"""
        export function isUrl(text: string): boolean {
          return /^(https?:\/\/)?([\w-]+\.?)+(\/[\w-]*)*$/.test(text);
        }
    """,
        2,
    ),
    bad(
        "rejection-in-handler",
        "typescript",
        """
        import express from "express";
        import { prisma } from "./db";
        const app = express();
        app.get("/users/:id", async (req, res) => {
          const user = await prisma.user.findUnique({ where: { id: req.params.id } });
          if (!user) {
            res.sendStatus(404);
            return;
          }
          res.json(user);
        });
    """,
        5,
    ),
    bad(
        "listener-leak",
        "typescript",
        """
        import { bus } from "./bus";
        export class JobRunner {
          run(job: Job): Promise<Result> {
            return new Promise((resolve) => {
              bus.on("done", (id, result) => {
                if (id === job.id) resolve(result);
              });
              bus.emit("start", job);
            });
          }
        }
    """,
        5,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
        import { Hono } from "hono";
        const app = new Hono();
        app.get("/price/:sku", async (c) => {
          try {
            const price = await prices.lookup(c.req.param("sku"));
            return c.json({ price });
          } catch (e) {
            return c.json({ error: "lookup failed" });
          }
        });
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
        @Controller("invoices")
        export class InvoicesController {
          constructor(private readonly invoices: InvoicesService) {}
          @Post()
          async create(@Body() dto: CreateInvoiceDto) {
            try {
              return await this.invoices.create(dto);
            } catch (error) {
              this.logger.error(error);
              return { success: false, message: error.message };
            }
          }
        }
    """,
        10,
    ),
    bad(
        "secret-in-log",
        "typescript",
        """
        import winston from "winston";
        const logger = winston.createLogger();
        export function connect(opts: { host: string; user: string; password: string }) {
          logger.info("connecting", opts.host, opts.user, opts.password);
        }
    """,
        4,
    ),
    bad(
        "rejection-in-handler",
        "typescript",
        """
        import { Router, Request, Response } from "express";
        export const ordersRouter = Router();
        const list = async (req: Request, res: Response) => {
          const orders = await db.query("SELECT * FROM orders LIMIT 10");
          res.json(orders.rows);
        };
        ordersRouter.get("/orders", list);
    """,
        4,
    ),
    bad(
        "fire-and-forget",
        "typescript",
        """
        async function sendEmail(to: string): Promise<void> { await transport.sendMail({ to }); }
        export async function register(dto: RegisterDto) {
          const user = await repo.save(dto);
          sendEmail(user.email);
          return user;
        }
    """,
        4,
    ),
    bad(
        "interval-leak",
        "typescript",
        """
        router.post("/start/:id", (req, res) => {
          const id = req.params.id;
          setInterval(() => syncAccount(id), 30_000);
          res.sendStatus(202);
        });
    """,
        3,
    ),
    bad(
        "pipe-without-error-handler",
        "typescript",
        """
        import fs from "fs";
        import csv from "csv-parser";
        export function importFile(path: string) {
          const rows: Row[] = [];
          return new Promise((resolve) => {
            fs.createReadStream(path)
              .pipe(csv())
              .on("data", (row) => rows.push(row))
              .on("end", () => resolve(rows));
          });
        }
    """,
        6,
    ),
    bad(
        "uncaught-exception-survived",
        "typescript",
        """
        process.on("uncaughtException", (error: Error) => {
          logger.error("Uncaught exception", { error: error.message, stack: error.stack });
        });
        process.on("unhandledRejection", (reason) => {
          logger.error("Unhandled rejection", reason);
        });
    """,
        1,
    ),
    bad(
        "released-on-success-only",
        "typescript",
        """
        export async function withConnection(sql: string) {
          const connection = await mysqlPool.getConnection();
          const [rows] = await connection.execute(sql);
          connection.release();
          return rows;
        }
    """,
        2,
    ),
    bad(
        "request-in-transaction",
        "typescript",
        """
        await this.dataSource.transaction(async (manager) => {
          const order = await manager.save(Order, dto);
          const payment = await axios.post("https://pay.example.com/charges", { amount: order.total });
          order.paymentId = payment.data.id;
          await manager.save(order);
        });
    """,
        3,
    ),
    bad(
        "grpc-call-without-deadline",
        "typescript",
        """
        import * as grpc from "@grpc/grpc-js";
        import { UserServiceClient } from "./gen/user_grpc_pb";
        const client = new UserServiceClient("users:50051", grpc.credentials.createInsecure());
        export function getUser(req: GetUserRequest): Promise<User> {
          return new Promise((resolve, reject) => {
            client.getUser(req, (err, res) => (err ? reject(err) : resolve(res)));
          });
        }
    """,
        6,
    ),
    bad(
        "lost-update",
        "typescript",
        """
        async function addPoints(userId: string, n: number) {
          const user = await prisma.user.findUnique({ where: { id: userId } });
          await prisma.user.update({ where: { id: userId }, data: { points: user.points + n } });
        }
    """,
        3,
    ),
    bad(
        "file-written-in-place",
        "typescript",
        """
        import { promises as fs } from "fs";
        const DB = "./data/db.json";
        export async function read() { return JSON.parse(await fs.readFile(DB, "utf8")); }
        export async function write(data: unknown) { await fs.writeFile(DB, JSON.stringify(data)); }
    """,
        4,
    ),
    bad(
        "no-graceful-shutdown",
        "typescript",
        """
        import Fastify from "fastify";
        const server = Fastify();
        server.get("/", async () => "ok");
        server.listen({ port: 3000 });
    """,
        4,
    ),
    bad(
        "unguarded-parse",
        "typescript",
        """
        socket.addEventListener("message", (event) => {
          const payload = JSON.parse(event.data);
          store.dispatch(payload);
        });
    """,
        2,
    ),
    bad(
        "error-answered-as-success",
        "typescript",
        """
        export default async function handler(req: NextApiRequest, res: NextApiResponse) {
          try {
            const data = await load(req.query.id);
            res.status(200).json(data);
          } catch (e) {
            res.status(200).json({ data: null, error: (e as Error).message });
          }
        }
    """,
        6,
    ),
    bad(
        "listener-leak",
        "typescript",
        """
        export class Orders {
          constructor(private readonly bus: EventEmitter) {}
          async waitFor(id: string) {
            return new Promise((resolve) => {
              this.bus.on("order", (o) => { if (o.id === id) resolve(o); });
            });
          }
        }
    """,
        5,
    ),
    bad(
        "interval-leak",
        "typescript",
        """
        useEffect(() => {
          const id = setInterval(() => refetch(), 5000);
        }, [refetch]);
    """,
        2,
    ),
    bad(
        "acknowledged-before-work",
        "typescript",
        """
        await channel.consume("emails", async (msg) => {
          if (!msg) return;
          channel.ack(msg);
          await sendEmail(JSON.parse(msg.content.toString()));
        });
    """,
        3,
    ),
]
