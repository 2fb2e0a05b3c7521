"""Transactions that another call ends, failures that the answer names, and other code close to a fault."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RELEASED = "released-on-success-only"
_EMPTY = "failure-looks-empty"

CASES = [
    # The end of a session of MongoDB aborts its transaction.
    good(
        _RELEASED,
        "javascript",
        """
        async function transfer(client, from, to, cents) {
          const session = client.startSession();
          session.startTransaction();
          try {
            await accounts.updateOne({ _id: from }, { $inc: { cents: -cents } }, { session });
            await accounts.updateOne({ _id: to }, { $inc: { cents } }, { session });
            await session.commitTransaction();
          } finally {
            await session.endSession();
          }
        }
        """,
    ),
    good(
        _RELEASED,
        "typescript",
        """
        async function transfer(client: MongoClient, from: string, to: string, cents: number) {
          await using session = client.startSession();
          session.startTransaction();
          const row = await accounts.findOne({ _id: from }, { session });
          if (row === null) return false;
          await accounts.updateOne({ _id: to }, { $inc: { cents } }, { session });
          await session.commitTransaction();
          return true;
        }
        """,
    ),
    bad(
        _RELEASED,
        "javascript",
        """
        async function transfer(session, from, to, cents) {
          session.startTransaction();
          await accounts.updateOne({ _id: from }, { $inc: { cents: -cents } }, { session });
          await accounts.updateOne({ _id: to }, { $inc: { cents } }, { session });
          await session.commitTransaction();
        }
        """,
        2,
    ),
    # One finding of a function whose transaction is not rolled back, and that also leaves before the commit.
    bad(
        _RELEASED,
        "javascript",
        """
        async function rename(client, id, name) {
          await client.query("BEGIN");
          const { rows } = await client.query("SELECT name FROM users WHERE id = $1", [id]);
          if (rows[0].name === name) {
            return false;
          }
          await client.query("UPDATE users SET name = $2 WHERE id = $1", [id, name]);
          await client.query("COMMIT");
          return true;
        }
        """,
        2,
    ),
    # The connection is closed and replaced: what it had begun is gone.
    good(
        _RELEASED,
        "python",
        """
        class Store:
            def add(self, row):
                try:
                    self.conn.execute("INSERT INTO rows VALUES (?)", (row,))
                    self.conn.commit()
                except Error:
                    log.exception("insert failed")
                    self.conn.close()
                    self.conn = connect(self.path)
        """,
    ),
    good(
        _RELEASED,
        "python",
        """
        class Store:
            def add(self, row):
                try:
                    self.conn.execute("INSERT INTO rows VALUES (?)", (row,))
                    self.conn.commit()
                except Error:
                    log.exception("insert failed")
                    self.conn = None
        """,
    ),
    bad(
        _RELEASED,
        "python",
        """
        class Store:
            def add(self, row):
                try:
                    self.conn.execute("INSERT INTO rows VALUES (?)", (row,))
                    self.conn.commit()
                except Error:
                    log.exception("insert failed")
                    self.cursor.close()
        """,
        6,
    ),
    # An answer that says that it failed.
    good(
        _EMPTY,
        "python",
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.get("/items")
        async def items():
            try:
                return {"success": True, "items": await store.load()}
            except Exception:
                log.error("load failed")
                return {"success": False, "items": []}
        """,
    ),
    bad(
        _EMPTY,
        "python",
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.get("/items")
        async def items():
            try:
                return {"more": True, "items": await store.load()}
            except Exception:
                log.error("load failed")
                return {"more": False, "items": []}
        """,
        7,
    ),
    good(
        _EMPTY,
        "typescript",
        """
        import express from "express";
        const app = express();
        app.get("/items", async (req, res) => {
          try {
            res.json({ ok: true, items: await store.load() });
          } catch (err) {
            logger.error(err);
            res.json({ ok: false, items: [] });
          }
        });
        """,
    ),
]
