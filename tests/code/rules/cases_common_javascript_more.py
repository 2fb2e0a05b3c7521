"""More defects as services in JavaScript have them."""

# ruff: noqa: E501  (code of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "error-answered-as-success",
        "javascript",
        """
        const Router = require("@koa/router");
        const router = new Router();
        router.get("/profile", async (ctx) => {
          try {
            ctx.body = await profiles.get(ctx.state.user.id);
          } catch (error) {
            ctx.body = { success: false, error: error.message };
          }
        });
    """,
        7,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
        exports.register = async (req, res, next) => {
          console.log("register", req.body);
          try {
            const user = await User.create(req.body);
            res.status(201).json({ id: user.id });
          } catch (e) {
            next(e);
          }
        };
    """,
        2,
    ),
    bad(
        "catastrophic-expression",
        "javascript",
        r"""
        function trimTags(html) {
          return html.replace(/<(\w+)(\s+\w+="[^"]*")*(\s*\w*)*>/g, "");
        }
    """,
        2,
    ),
    bad(
        "catastrophic-expression",
        "javascript",
        r"""
        const re = new RegExp("^(([a-z0-9]+)*\\.)+com$");
        module.exports = (host) => re.test(host);
    """,
        1,
    ),
    bad(
        "rejection-in-handler",
        "javascript",
        """
        const router = require("express").Router();
        router.delete("/:id", async (req, res) => {
          await Session.deleteOne({ _id: req.params.id });
          res.status(204).end();
        });
        module.exports = router;
    """,
        3,
    ),
    bad(
        "rejection-in-handler",
        "javascript",
        """
        const express = require("express");
        class App {
          constructor() {
            this.app = express();
            this.app.get("/health", async (req, res) => {
              const status = await this.checkAll();
              res.json(status);
            });
          }
        }
    """,
        6,
    ),
    bad(
        "fire-and-forget",
        "javascript",
        """
        class Cache {
          async refresh() { this.data = await load(); }
          start() {
            setInterval(() => { this.refresh(); }, 60000);
          }
        }
    """,
        4,
    ),
    bad(
        "fire-and-forget",
        "javascript",
        """
        const results = [];
        ids.forEach(async id => {
          const r = await fetchItem(id);
          results.push(r);
        });
        return results;
    """,
        2,
    ),
    bad(
        "listener-leak",
        "javascript",
        """
        const redis = require("redis");
        const sub = redis.createClient();
        app.get("/notifications", (req, res) => {
          sub.on("message", (channel, message) => {
            res.write(message);
          });
        });
    """,
        4,
    ),
    bad(
        "listener-leak",
        "javascript",
        """
        import { useEffect, useState } from "react";
        export function useOnline() {
          const [online, setOnline] = useState(true);
          useEffect(() => {
            window.addEventListener("online", () => setOnline(true));
            window.addEventListener("offline", () => setOnline(false));
          }, []);
          return online;
        }
    """,
        5,
        6,
    ),
    bad(
        "acknowledged-before-work",
        "javascript",
        """
        const { SQSClient, DeleteMessageCommand } = require("@aws-sdk/client-sqs");
        async function handle(message) {
          await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
          await processOrder(JSON.parse(message.Body));
        }
    """,
        3,
    ),
    bad(
        "no-graceful-shutdown",
        "javascript",
        """
        const Koa = require("koa");
        const app = new Koa();
        app.use(async (ctx) => { ctx.body = "ok"; });
        app.listen(3000);
    """,
        4,
    ),
    bad(
        "error-answered-as-success",
        "javascript",
        """
        app.use((err, req, res, next) => {
          console.error(err);
          res.json({ error: err.message });
        });
    """,
        3,
    ),
    bad(
        "error-answered-as-success",
        "javascript",
        """
        app.get("/users", (req, res) => {
          User.find().then((users) => {
            res.send(users);
          }).catch((err) => {
            res.send({ status: "error", message: err });
          });
        });
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
        const login = async (email, password) => {
          try {
            return await api.post("/login", { email, password });
          } catch (err) {
            console.error("login failed", { email, password }, err);
            throw err;
          }
        };
    """,
        5,
    ),
    bad(
        "secret-in-log",
        "javascript",
        """
        const { API_KEY, DB_PASSWORD } = process.env;
        console.log("Starting with key", API_KEY);
    """,
        2,
    ),
    bad(
        "catastrophic-expression",
        "javascript",
        r"""
        export const isEmail = (s) => /^([a-zA-Z0-9_\.\-])+\@(([a-zA-Z0-9\-])+\.)+([a-zA-Z0-9]{2,4})+$/.test(s);
    """,
        1,
    ),
    bad(
        "rejection-in-handler",
        "javascript",
        """
        import express from 'express';
        const app = express();
        app.use(async (req, res, next) => {
          req.user = await users.fromToken(req.get('authorization'));
          next();
        });
    """,
        4,
    ),
    bad(
        "listener-leak",
        "javascript",
        """
        function handleUpload(req, res) {
          process.on("exit", () => cleanup(req.file));
          res.sendStatus(200);
        }
        app.post("/upload", handleUpload);
    """,
        2,
    ),
    bad(
        "interval-leak",
        "javascript",
        """
        io.on("connection", (socket) => {
          const timer = setInterval(() => socket.emit("time", Date.now()), 1000);
        });
    """,
        2,
    ),
    bad(
        "pipe-without-error-handler",
        "javascript",
        """
        const fs = require("fs");
        router.get("/export", (req, res) => {
          const stream = fs.createReadStream("/data/export.csv");
          res.attachment("export.csv");
          stream.pipe(res);
        });
    """,
        5,
    ),
    bad(
        "released-on-success-only",
        "javascript",
        """
        const mysql = require("mysql2/promise");
        const pool = mysql.createPool({});
        exports.total = async () => {
          const conn = await pool.getConnection();
          const [rows] = await conn.query("SELECT SUM(x) FROM t");
          await conn.release();
          return rows[0];
        };
    """,
        4,
    ),
    bad(
        "lost-update",
        "javascript",
        """
        async function like(postId) {
          const post = await Post.findById(postId);
          post.likes += 1;
          await post.save();
        }
    """,
        3,
    ),
    bad(
        "busy-loop",
        "javascript",
        """
        async function poll(queue) {
          while (true) {
            const job = queue.shift();
            if (!job) continue;
            run(job);
          }
        }
    """,
        3,
    ),
    bad(
        "no-graceful-shutdown",
        "javascript",
        """
        const http = require("http");
        const server = http.createServer((req, res) => res.end("ok"));
        server.listen(8080);
    """,
        3,
    ),
]
