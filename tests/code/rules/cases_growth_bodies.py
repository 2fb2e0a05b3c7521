"""Bodies of any size: with a declared length only, unpacked, and with a limit that is taken away."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

WHOLE = "whole-file-loaded"

CASES = [
    bad(WHOLE, "kotlin", """
        import io.ktor.server.routing.put
        fun Route.attachments() {
            put("/attachments/{id}") {
                if ((call.request.contentLength() ?: 0L) > MAX_BYTES) {
                    return@put call.respond(HttpStatusCode.PayloadTooLarge)
                }
                store(call.receive<ByteArray>())
            }
        }
        """, 7),
    good(WHOLE, "kotlin", """
        import io.ktor.server.routing.put
        fun Route.attachments() {
            put("/attachments/{id}") {
                val length = call.request.contentLength()
                    ?: return@put call.respond(HttpStatusCode.LengthRequired)
                if (length > MAX_BYTES) return@put call.respond(HttpStatusCode.PayloadTooLarge)
                store(call.receive<ByteArray>())
            }
        }
        """),
    good(WHOLE, "kotlin", """
        import io.ktor.server.routing.put
        fun Route.attachments() {
            put("/attachments/{id}") {
                if ((call.request.contentLength() ?: 0L) > MAX_BYTES) return@put refuse()
                store(call.receiveChannel().readRemaining(MAX_BYTES + 1).readByteArray())
            }
        }
        """),
    bad(WHOLE, "go", """
        func upload(w http.ResponseWriter, r *http.Request) {
            if r.ContentLength > maxBody {
                http.Error(w, "too large", http.StatusRequestEntityTooLarge)
                return
            }
            body, err := io.ReadAll(r.Body)
            if err != nil {
                return
            }
            store(body)
        }
        func main() { http.HandleFunc("/upload", upload) }
        """, 6),
    good(WHOLE, "go", """
        func upload(w http.ResponseWriter, r *http.Request) {
            body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
            if err != nil {
                return
            }
            store(body)
        }
        func main() { http.HandleFunc("/upload", upload) }
        """),
    bad(WHOLE, "python", """
        from fastapi import FastAPI, HTTPException, Request
        app = FastAPI()
        @app.post("/hooks")
        async def hook(request: Request):
            if int(request.headers.get("content-length", 0)) > MAX_BODY:
                raise HTTPException(413)
            return handle(await request.body())
        """, 7),
    bad(WHOLE, "python", """
        from fastapi import FastAPI, Request
        app = FastAPI()
        @app.post("/hooks")
        async def hook(request: Request):
            parts = bytearray()
            async for part in request.stream():
                parts.extend(part)
            return handle(bytes(parts))
        """, 6),
    good(WHOLE, "python", """
        from fastapi import FastAPI, HTTPException, Request
        app = FastAPI()
        @app.post("/hooks")
        async def hook(request: Request):
            parts = bytearray()
            async for part in request.stream():
                parts.extend(part)
                if len(parts) > MAX_BODY:
                    raise HTTPException(413)
            return handle(bytes(parts))
        """),
    bad(WHOLE, "typescript", """
        import getRawBody from 'raw-body';
        router.post('/hooks', async (ctx) => {
          const body = await getRawBody(ctx.req, { length: ctx.get('content-length') });
          handle(body);
        });
        """, 3),
    good(WHOLE, "typescript", """
        import getRawBody from 'raw-body';
        router.post('/hooks', async (ctx) => {
          const body = await getRawBody(ctx.req, { limit: '256kb' });
          handle(body);
        });
        """),
    bad(WHOLE, "javascript", """
        async function readBody(req) {
          const parts = [];
          for await (const part of req) parts.push(part);
          return Buffer.concat(parts);
        }
        """, 3),
    good(WHOLE, "javascript", """
        async function readBody(req) {
          const parts = [];
          let size = 0;
          for await (const part of req) {
            size += part.length;
            if (size > MAX) throw new TooLarge();
            parts.push(part);
          }
          return Buffer.concat(parts);
        }
        """),
    bad(WHOLE, "typescript", """
        import { text } from 'node:stream/consumers';
        export async function handler(req: IncomingMessage, res: ServerResponse) {
          const body = await text(req);
          res.end(handle(body));
        }
        """, 3),
    bad(WHOLE, "typescript", """
        import Fastify from 'fastify';
        export const app = Fastify({ bodyLimit: Number.MAX_SAFE_INTEGER });
        """, 2),
    bad(WHOLE, "csharp", """
        builder.WebHost.ConfigureKestrel(options => options.Limits.MaxRequestBodySize = null);
        """, 1),
    bad(WHOLE, "java", """
        import com.sun.net.httpserver.HttpExchange;
        class Hook {
            void handle(HttpExchange exchange) throws IOException {
                byte[] body = exchange.getRequestBody().readAllBytes();
                accept(body);
            }
        }
        """, 4),
    bad(WHOLE, "kotlin", """
        import java.util.zip.GZIPInputStream
        import org.springframework.web.multipart.MultipartFile
        class Upload {
            private fun unpack(file: MultipartFile): String =
                file.inputStream.use { raw -> GZIPInputStream(raw).use { it.readBytes() } }.decodeToString()
        }
        """, 5),
    good(WHOLE, "kotlin", """
        import java.util.zip.GZIPInputStream
        import org.springframework.web.multipart.MultipartFile
        class Upload {
            private fun unpack(file: MultipartFile): ByteArray =
                file.inputStream.use { raw -> GZIPInputStream(raw).use { it.readNBytes(MAX + 1) } }
        }
        """),
    bad(WHOLE, "java", """
        import java.util.zip.GZIPInputStream;
        @RestController
        class Upload {
            @PostMapping("/feeds")
            void take(HttpServletRequest request) throws IOException {
                try (var in = new GZIPInputStream(request.getInputStream())) {
                    parse(in.readAllBytes());
                }
            }
        }
        """, 7),
    bad(WHOLE, "python", """
        import gzip
        from fastapi import FastAPI, Request
        app = FastAPI()
        def unpack(raw: bytes) -> bytes:
            return gzip.decompress(raw)
        @app.post("/feeds")
        async def take(request: Request):
            return parse(unpack(await read_limited(request, 1_000_000)))
        """, 5),
    bad(WHOLE, "typescript", """
        import { promisify } from 'node:util';
        import zlib from 'node:zlib';
        const gunzip = promisify(zlib.gunzip);
        app.post('/feeds', express.raw({ limit: '1mb' }), async (req, res) => {
          const text = (await gunzip(req.body)).toString();
          res.json(parse(text));
        });
        """, 5),
    good(WHOLE, "typescript", """
        import { promisify } from 'node:util';
        import zlib from 'node:zlib';
        const gunzip = promisify(zlib.gunzip);
        app.post('/feeds', express.raw({ limit: '1mb' }), async (req, res) => {
          const text = (await gunzip(req.body, { maxOutputLength: 16_000_000 })).toString();
          res.json(parse(text));
        });
        """),
    bad(WHOLE, "csharp", """
        [HttpPost("feeds")]
        public async Task<IActionResult> Take(IFormFile file)
        {
            if (file.Length > MaxPacked) return BadRequest();
            await using var unpacked = new GZipStream(file.OpenReadStream(), CompressionMode.Decompress);
            using var reader = new StreamReader(unpacked);
            return Ok(Parse(await reader.ReadToEndAsync()));
        }
        """, 7),
    bad(WHOLE, "rust", """
        use std::io::Read;
        async fn take(body: Bytes) -> Result<String, StatusCode> {
            let mut text = String::new();
            GzDecoder::new(&body[..]).read_to_string(&mut text).map_err(bad)?;
            Ok(text)
        }
        """, 4),
    bad(WHOLE, "go", """
        func take(w http.ResponseWriter, r *http.Request) {
            zr, err := gzip.NewReader(http.MaxBytesReader(w, r.Body, 1<<20))
            if err != nil {
                return
            }
            var out bytes.Buffer
            if _, err := io.Copy(&out, zr); err != nil {
                return
            }
            parse(out.Bytes())
        }
        func main() { http.HandleFunc("/feeds", take) }
        """, 7),
    good(WHOLE, "go", """
        func take(w http.ResponseWriter, r *http.Request) {
            zr, err := gzip.NewReader(http.MaxBytesReader(w, r.Body, 1<<20))
            if err != nil {
                return
            }
            var out bytes.Buffer
            if _, err := io.Copy(&out, io.LimitReader(zr, 16<<20)); err != nil {
                return
            }
            parse(out.Bytes())
        }
        func main() { http.HandleFunc("/feeds", take) }
        """),
]  # fmt: skip
