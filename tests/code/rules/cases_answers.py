"""What a service says: errors that are answered as success, secrets in logs."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_ERROR = "error-answered-as-success"
_LOG = "secret-in-log"

CASES = [
    bad(
        _ERROR,
        _PY,
        """
        from flask import Flask, jsonify
        app = Flask(__name__)
        @app.route("/orders/<id>")
        def order(id):
            try:
                return jsonify(store.load(id))
            except StoreError as e:
                return jsonify({"error": str(e)})
    """,
        8,
    ),
    good(
        _ERROR,
        _PY,
        """
        from flask import Flask, jsonify
        app = Flask(__name__)
        @app.route("/orders/<id>")
        def order(id):
            try:
                return jsonify(store.load(id))
            except NotFound:
                return jsonify(error="no such order"), 404
            except StoreError as e:
                return jsonify({"error": str(e)}), 503
    """,
    ),
    bad(
        _ERROR,
        _PY,
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.get("/rates")
        async def rates():
            try:
                return await fetch_rates()
            except Exception as e:
                logger.exception("rates")
                return {"success": False, "message": str(e)}
    """,
        9,
    ),
    good(
        _ERROR,
        _PY,
        """
        from fastapi import FastAPI, Response
        app = FastAPI()
        @app.get("/rates")
        async def rates(response: Response):
            try:
                return await fetch_rates()
            except Exception as e:
                response.status_code = 502
                return {"error": str(e)}
    """,
    ),
    good(
        _ERROR,
        _PY,
        """
        from fastapi import FastAPI
        from fastapi.responses import JSONResponse
        app = FastAPI()
        @app.get("/rates")
        async def rates():
            try:
                return await fetch_rates()
            except UpstreamError as e:
                return JSONResponse({"error": str(e)}, status_code=502)
            except KeyError:
                return {"rates": [], "error": None}
    """,
    ),
    bad(
        _ERROR,
        _PY,
        """
        from rest_framework.views import APIView
        from rest_framework.response import Response
        class Report(APIView):
            def get(self, request):
                try:
                    return Response(build(request.user))
                except BuildError as e:
                    return Response({"error": str(e)})
    """,
        8,
    ),
    good(
        _ERROR,
        _PY,
        """
        from rest_framework.views import APIView
        from rest_framework.response import Response
        class Report(APIView):
            def get(self, request):
                try:
                    return Response(build(request.user))
                except BuildError as e:
                    return Response({"error": str(e)}, status=status.HTTP_409_CONFLICT)
                except OSError:
                    return Response({"error": "no disk"}, status.HTTP_503_SERVICE_UNAVAILABLE)
    """,
    ),
    bad(
        _ERROR,
        _PY,
        """
        from django.http import JsonResponse
        def pay(request):
            try:
                charge(request.POST)
            except CardError as e:
                return JsonResponse({"status": "error", "reason": str(e)})
            return JsonResponse({"status": "ok"})
    """,
        6,
    ),
    # A form that is shown again with its errors is an answer.
    good(
        _ERROR,
        _PY,
        """
        from django.shortcuts import render
        def pay(request):
            try:
                charge(request.POST)
            except CardError as e:
                return render(request, "pay.html", {"error": str(e)})
    """,
    ),
    # No request handler: the caller reads the result.
    good(
        _ERROR,
        _PY,
        """
        def load(path):
            try:
                return {"data": read(path)}
            except OSError as e:
                return {"error": str(e)}
    """,
    ),
    # JSON-RPC has its own errors.
    good(
        _ERROR,
        _PY,
        """
        from fastapi import FastAPI
        app = FastAPI()
        @app.post("/rpc")
        async def rpc(body: dict):
            try:
                return {"jsonrpc": "2.0", "result": await call(body)}
            except Exception as e:
                return {"jsonrpc": "2.0", "error": {"code": -32603, "message": str(e)}}
    """,
    ),
    bad(
        _ERROR,
        _JS,
        """
        const app = require('express')();
        app.get('/orders', async (req, res) => {
          try {
            res.json(await orders.all());
          } catch (err) {
            res.json({ error: err.message });
          }
        });
    """,
        6,
    ),
    bad(
        _ERROR,
        _JS,
        """
        const app = require('express')();
        app.get('/orders', (req, res) => {
          db.query('SELECT 1', (err, rows) => {
            if (err) return res.status(200).send({ success: false, err });
            res.json(rows);
          });
        });
    """,
        4,
    ),
    bad(
        _ERROR,
        _TS,
        """
        export const list = (req: Request, res: Response) => {
          repo.list().then(rows => res.json(rows)).catch(error => res.send({ error }));
        };
    """,
        2,
    ),
    bad(
        _ERROR,
        _TS,
        """
        import { NextResponse } from 'next/server';
        import { Controller, Get } from '@nestjs/common';
        @Controller()
        class Rates {
          @Get('/rates')
          async rates() {
            try { return await this.source.read(); } catch (e) { return { error: e.message }; }
          }
        }
    """,
        7,
    ),
    good(
        _ERROR,
        _JS,
        """
        const app = require('express')();
        app.get('/orders', async (req, res, next) => {
          try {
            res.json({ rows: await orders.all(), error: null });
          } catch (err) {
            if (err.code === 404) return res.status(404).json({ error: 'none' });
            res.statusCode = 502;
            res.json({ error: err.message });
          }
        });
        app.post('/x', (req, res) => { run(req.body, (err) => { if (err) return res.sendStatus(500); res.json({ ok: true }); }); });
    """,
    ),
    good(
        _ERROR,
        _JS,
        """
        const Koa = require('koa');
        router.get('/orders', async (ctx) => {
          try { ctx.body = await orders.all(); } catch (err) { ctx.status = 502; ctx.body = { error: err.message }; }
        });
    """,
    ),
    bad(
        _ERROR,
        _GO,
        """
        package main
        import ("encoding/json"; "net/http")
        func list(w http.ResponseWriter, r *http.Request) {
          rows, err := load(r.Context())
          if err != nil {
            json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
            return
          }
          json.NewEncoder(w).Encode(rows)
        }
    """,
        6,
    ),
    bad(
        _ERROR,
        _GO,
        """
        package main
        import ("net/http"; "github.com/gin-gonic/gin")
        func list(c *gin.Context) {
          rows, err := load(c)
          if err != nil {
            c.JSON(http.StatusOK, gin.H{"error": err.Error()})
            return
          }
          c.JSON(http.StatusOK, rows)
        }
    """,
        6,
    ),
    good(
        _ERROR,
        _GO,
        """
        package main
        import ("encoding/json"; "net/http"; "github.com/gin-gonic/gin")
        func list(w http.ResponseWriter, r *http.Request) {
          rows, err := load(r.Context())
          if err != nil {
            w.WriteHeader(http.StatusBadGateway)
            json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
            return
          }
          json.NewEncoder(w).Encode(rows)
        }
        func get(c *gin.Context) {
          row, err := load(c)
          if err != nil {
            c.JSON(http.StatusNotFound, gin.H{"error": err.Error()})
            return
          }
          c.JSON(http.StatusOK, row)
        }
    """,
    ),
    bad(
        _ERROR,
        _JAVA,
        """
        @RestController
        class Orders {
          @GetMapping("/orders")
          public ResponseEntity<?> list() {
            try {
              return ResponseEntity.ok(service.list());
            } catch (ServiceException e) {
              return ResponseEntity.ok(Map.of("error", e.getMessage()));
            }
          }
        }
    """,
        8,
    ),
    good(
        _ERROR,
        _JAVA,
        """
        @RestController
        class Orders {
          @GetMapping("/orders")
          public ResponseEntity<?> list() {
            try {
              return ResponseEntity.ok(service.list());
            } catch (ServiceException e) {
              return ResponseEntity.status(HttpStatus.BAD_GATEWAY).body(Map.of("error", e.getMessage()));
            }
          }
        }
    """,
    ),
    # Secrets in logs.
    bad(
        _LOG,
        _PY,
        "import logging\ndef login(user, password):\n    logging.info('login of %s with %s', user, password)",
        3,
    ),
    bad(_LOG, _PY, "def login(user, password):\n    logger.debug(f'login of {user}: {password}')", 2),
    bad(
        _LOG,
        _PY,
        "def call(request):\n    auth = request.headers.get('Authorization')\n    log.info('auth ' + auth)",
        3,
    ),
    bad(_LOG, _PY, "def call(request):\n    logger.info('headers: %s', request.headers)", 2),
    bad(_LOG, _PY, "import os\nlogger.warning('key is %s', os.environ['STRIPE_API_KEY'])", 2),
    bad(
        _LOG,
        _PY,
        "def connect(cfg):\n    options = {'host': cfg.host, 'password': cfg.password}\n    logger.info('connecting with %s', options)",
        3,
    ),
    bad(
        _LOG,
        _PY,
        "def call(token):\n    url = f'https://api/v1?access_token={access_token}'\n    logger.info('GET %s', url)",
        3,
    ),
    bad(
        _LOG,
        _PY,
        "from flask import Flask, request\napp = Flask('a')\n@app.post('/login')\ndef login():\n    print('login', request.json)",
        5,
    ),
    good(
        _LOG,
        _PY,
        "def login(user, password):\n    logging.info('login of %s, %d characters', user, len(password))",
    ),
    good(
        _LOG,
        _PY,
        "def login(user, token):\n    logger.info('oauth token %s', mask(token))\n    logger.info('ends with %s', token[-4:])\n    logger.info('has one: %s', token is not None)\n    logger.info('%s', 'set' if token else 'missing')",
    ),
    good(_LOG, _PY, "def parse(lexer, token):\n    logger.debug('unexpected %s at login', token)"),
    good(
        _LOG,
        _PY,
        "def page(next_token, token_count, password_file, secret_name):\n    logger.debug('%s %s %s %s', next_token, token_count, password_file, secret_name)",
    ),
    good(_LOG, _PY, "def call(request):\n    logger.info('agent %s', request.headers.get('User-Agent'))"),
    good(_LOG, _PY, "def make():\n    print(password)"),
    good(_LOG, _PY, "def login(user):\n    logger.error('password is wrong, no secret given')"),
    good(
        _LOG,
        _PY,
        "def reset(user):\n    user.password = None\n    logger.info('reset', extra={'password': '***'})",
    ),
    bad(
        _LOG,
        _JS,
        "app.post('/login', (req, res) => {\n  console.log('login', req.body);\n  res.end();\n});",
        2,
    ),
    bad(_LOG, _JS, "async function call(accessToken) {\n  console.log(`token: ${accessToken}`);\n}", 2),
    bad(
        _LOG,
        _JS,
        "app.use((req, res, next) => {\n  logger.info('request', { url: req.url, headers: req.headers });\n  next();\n});",
        2,
    ),
    bad(
        _LOG,
        _TS,
        "const connect = (cfg: Config) => {\n  this.logger.debug('connect ' + cfg.db.password);\n};",
        2,
    ),
    bad(_LOG, _JS, "console.log(process.env);", 1),
    bad(
        _LOG,
        _JS,
        "const auth = () => {\n  const header = req.headers['authorization'];\n  console.log(header);\n};",
        3,
    ),
    good(
        _LOG,
        _JS,
        "app.post('/orders', (req, res) => {\n  console.log('order', req.body.id, req.headers['x-request-id'], !!req.headers.authorization);\n});",
    ),
    good(
        _LOG,
        _JS,
        "console.log('mode', process.env.NODE_ENV, Boolean(process.env.API_KEY), apiKey ? 'key' : 'no key', apiKey.length);",
    ),
    good(_LOG, _JS, "console.log(redact({ password }), password === other);"),
    bad(
        _LOG,
        _GO,
        'package a\nimport "log"\nfunc f(u User) {\n log.Printf("user %s pw %s", u.Name, u.Password)\n}',
        4,
    ),
    bad(
        _LOG,
        _GO,
        'package a\nimport ("log"; "net/http")\nfunc f(w http.ResponseWriter, r *http.Request) {\n auth := r.Header.Get("Authorization")\n log.Println("auth", auth)\n}',
        5,
    ),
    bad(
        _LOG,
        _GO,
        'package a\nimport ("log/slog"; "net/http")\nfunc f(w http.ResponseWriter, r *http.Request) {\n slog.Info("request", "headers", r.Header)\n}',
        4,
    ),
    bad(_LOG, _GO, 'package a\nimport "os"\nfunc f() {\n logger.Infof("key %s", os.Getenv("API_KEY"))\n}', 4),
    good(
        _LOG,
        _GO,
        'package a\nimport "log"\nfunc f(u User) {\n log.Printf("user %s pw %d", u.Name, len(u.Password))\n log.Println("no password given")\n log.Printf("%s", hash(u.Password))\n}',
    ),
    bad(
        _LOG,
        _JAVA,
        'class A {\n void f(User u) {\n  log.info("user {} with {}", u.getName(), u.getPassword());\n }\n}',
        3,
    ),
    bad(_LOG, _JAVA, 'class A {\n void f(String apiKey) {\n  logger.debug("key " + apiKey);\n }\n}', 3),
    good(
        _LOG,
        _JAVA,
        'class A {\n void f(User u, String apiKey) {\n  log.info("user {}: {}", u.getName(), u.getPassword() != null);\n  log.info("key {}", apiKey.length());\n  log.info("kind {}", Kind.PASSWORD);\n }\n}',
    ),
]
