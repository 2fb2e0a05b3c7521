"""Sizes that are looked at too late or through helpers: unpacked bodies, whole answers, lengths of frames."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_WHOLE = "whole-file-loaded"
_LENGTH = "length-from-peer"

CASES = [
    bad(
        _WHOLE,
        "csharp",
        """
        public sealed class GzipBody {
            public async Task InvokeAsync(HttpContext context) {
                if (context.Request.ContentLength is null or > MaxCompressed) { return; }
                await using var inflated = new MemoryStream();
                await using var gzip = new GZipStream(context.Request.Body, CompressionMode.Decompress);
                await gzip.CopyToAsync(inflated, context.RequestAborted);
                context.Request.Body = inflated;
            }
        }
        """,
        6,
    ),
    bad(
        _WHOLE,
        "python",
        """
        def _inflate(raw: bytes) -> bytes:
            engine = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            plain = engine.decompress(raw) + engine.flush()
            if len(plain) > MAX_PLAIN:
                raise TooLarge(len(plain))
            return plain

        def webhook(request: HttpRequest) -> HttpResponse:
            return HttpResponse(_inflate(request.read(MAX_WIRE + 1)))
        """,
        3,
    ),
    good(
        _WHOLE,
        "python",
        """
        def _inflate(raw: bytes) -> bytes:
            engine = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            plain = engine.decompress(raw, MAX_PLAIN)
            if not engine.eof:
                raise TooLarge()
            return plain

        def in_parts(request: HttpRequest) -> HttpResponse:
            engine = zlib.decompressobj()
            plain = b""
            for chunk in request:
                plain += engine.decompress(chunk)
                if len(plain) > MAX_PLAIN:
                    raise TooLarge()
            return HttpResponse(plain)

        def webhook(request: HttpRequest) -> HttpResponse:
            return HttpResponse(_inflate(request.read(MAX_WIRE + 1)))
        """,
    ),
    bad(
        _WHOLE,
        "go",
        """
        package upload
        func put(w http.ResponseWriter, r *http.Request) {
            zr, err := gzip.NewReader(http.MaxBytesReader(w, r.Body, maxPacked))
            if err != nil {
                return
            }
            plain, err := io.ReadAll(zr)
            var tooLarge *http.MaxBytesError
            if errors.As(err, &tooLarge) {
                return
            }
            store(plain)
        }
        """,
        7,
    ),
    good(
        _WHOLE,
        "go",
        """
        package upload
        func put(w http.ResponseWriter, r *http.Request) {
            zr, err := gzip.NewReader(http.MaxBytesReader(w, r.Body, maxPacked))
            if err != nil {
                return
            }
            plain, err := io.ReadAll(io.LimitReader(zr, maxPlain+1))
            store(plain)
        }
        """,
    ),
    bad(
        _WHOLE,
        "rust",
        """
        pub async fn hook(body: Bytes) -> Result<(), StatusCode> {
            if body.len() > MAX_PACKED { return Err(StatusCode::PAYLOAD_TOO_LARGE); }
            let mut plain = Vec::new();
            GzDecoder::new(&body[..]).read_to_end(&mut plain)?;
            if plain.len() > MAX_PLAIN { return Err(StatusCode::PAYLOAD_TOO_LARGE); }
            Ok(())
        }
        """,
        4,
    ),
    good(
        _WHOLE,
        "rust",
        """
        pub async fn hook(body: Bytes) -> Result<(), StatusCode> {
            let mut plain = Vec::new();
            GzDecoder::new(&body[..]).take(MAX_PLAIN + 1).read_to_end(&mut plain)?;
            Ok(())
        }
        """,
    ),
    bad(
        _WHOLE,
        "python",
        """
        from fastapi import APIRouter, HTTPException, Request
        router = APIRouter()
        MAX_SCAN = 40 * 1024 * 1024

        @router.put("/scans")
        async def put(request: Request):
            scan = await request.body()
            if len(scan) > MAX_SCAN:
                raise HTTPException(413, "larger than 40 MiB")
            return await store(scan)
        """,
        7,
    ),
    bad(
        _WHOLE,
        "rust",
        """
        async fn document(body: Incoming) -> Result<Bytes, StatusCode> {
            match timeout(LIMIT, body.collect()).await {
                Ok(Ok(collected)) => Ok(collected.to_bytes()),
                _ => Err(StatusCode::BAD_REQUEST),
            }
        }
        """,
        2,
    ),
    good(
        _WHOLE,
        "rust",
        """
        async fn document(body: Incoming) -> Result<Bytes, StatusCode> {
            match timeout(LIMIT, Limited::new(body, MAX_DOCUMENT).collect()).await {
                Ok(Ok(collected)) => Ok(collected.to_bytes()),
                _ => Err(StatusCode::BAD_REQUEST),
            }
        }
        """,
    ),
    bad(
        _WHOLE,
        "java",
        """
        class Pipeline extends ChannelInitializer<SocketChannel> {
            private static final int MAX_CONTENT = Integer.MAX_VALUE;
            protected void initChannel(SocketChannel channel) {
                channel.pipeline().addLast(new HttpObjectAggregator(MAX_CONTENT));
            }
        }
        """,
        4,
    ),
    good(
        _WHOLE,
        "java",
        """
        class Pipeline extends ChannelInitializer<SocketChannel> {
            private static final int MAX_CONTENT = 512 * 1024;
            private static final int NONE = Integer.MAX_VALUE;
            protected void initChannel(SocketChannel channel) {
                channel.pipeline().addLast(new HttpObjectAggregator(MAX_CONTENT));
            }
        }
        """,
    ),
    bad(
        _WHOLE,
        "kotlin",
        """
        class Previews(private val http: OkHttpClient) {
            fun load(link: String): Preview? {
                val request = Request.Builder().url(link).build()
                return http.newCall(request).execute().use { response -> Preview(link, response.markup()) }
            }
            private fun Response.markup(): String? = body?.string()
        }
        """,
        6,
    ),
    good(
        _WHOLE,
        "kotlin",
        """
        class Previews(private val http: OkHttpClient) {
            fun load(link: String): Preview? {
                val request = Request.Builder().url(link).build()
                return http.newCall(request).execute().use { response -> Preview(link, response.markup()) }
            }
            private fun Response.markup(): String = peekBody(MAX_MARKUP).string()
        }
        """,
    ),
    bad(
        _WHOLE,
        "typescript",
        """
        async function readBody(res: Response): Promise<string> {
          return new TextDecoder().decode(await res.arrayBuffer());
        }
        async function loadPage(address: string): Promise<string> {
          const res = await fetch(new URL(address), { signal: AbortSignal.timeout(10_000) });
          return (await readBody(res)).slice(0, MAX_TEXT);
        }
        """,
        2,
    ),
    good(
        _WHOLE,
        "typescript",
        """
        async function readBody(res: Response): Promise<string> {
          return new TextDecoder().decode(await res.arrayBuffer());
        }
        async function loadInvoice(id: string): Promise<string> {
          const res = await fetch(`${BASE}/invoices/${id}`, { signal: AbortSignal.timeout(10_000) });
          return readBody(res);
        }
        """,
    ),
    bad(
        _WHOLE,
        "go",
        """
        package preview
        func (l *Loader) preview(ctx context.Context, link string) ([]byte, error) {
            req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
            if err != nil {
                return nil, err
            }
            resp, err := l.client.Do(req)
            if err != nil {
                return nil, err
            }
            defer resp.Body.Close()
            return io.ReadAll(resp.Body)
        }
        """,
        12,
    ),
    bad(
        _LENGTH,
        "rust",
        """
        struct Frames { stream: TcpStream }
        impl Frames {
            fn header(&mut self) -> io::Result<Option<usize>> {
                let mut raw = [0u8; 4];
                match self.stream.read_exact(&mut raw) {
                    Ok(()) => Ok(Some(u32::from_be_bytes(raw) as usize)),
                    Err(err) => Err(err),
                }
            }
            fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
                let Some(len) = self.header()? else { return Ok(None) };
                let mut frame = vec![0u8; len];
                self.stream.read_exact(&mut frame)?;
                Ok(Some(frame))
            }
            fn checked(&mut self) -> io::Result<Option<Vec<u8>>> {
                let Some(len) = self.header()? else { return Ok(None) };
                if len > MAX_FRAME { return Err(too_long()); }
                let mut frame = vec![0u8; len];
                self.stream.read_exact(&mut frame)?;
                Ok(Some(frame))
            }
        }
        """,
        11,
    ),
    bad(
        _LENGTH,
        "go",
        """
        package frames
        func length(r io.Reader) (uint32, error) {
            var head [4]byte
            if _, err := io.ReadFull(r, head[:]); err != nil {
                return 0, err
            }
            return binary.BigEndian.Uint32(head[:]), nil
        }
        func frame(c net.Conn) ([]byte, error) {
            n, err := length(c)
            if err != nil {
                return nil, err
            }
            buf := make([]byte, n)
            _, err = io.ReadFull(c, buf)
            return buf, err
        }
        """,
        10,
    ),
    bad(
        _LENGTH,
        "python",
        """
        class Frames:
            def __init__(self, sock: socket.socket):
                self.sock = sock

            def _length(self) -> int:
                return struct.unpack("!I", self.sock.recv(4))[0]

            def next(self):
                size = self._length()
                buffer = bytearray(size)
                self.sock.recv_into(buffer)
                return buffer
        """,
        9,
    ),
    good(
        _LENGTH,
        "python",
        """
        class Frames:
            def __init__(self, sock: socket.socket):
                self.sock = sock

            def _length(self) -> int:
                size = struct.unpack("!I", self.sock.recv(4))[0]
                return min(size, MAX_FRAME)

            def next(self):
                size = self._length()
                buffer = bytearray(size)
                self.sock.recv_into(buffer)
                return buffer
        """,
    ),
    bad(
        _WHOLE,
        "python",
        """
        import httpx

        async def preview(url: str) -> str:
            answer = await client().get(url)
            return answer.text[:1000]

        async def unfurl(url: str) -> str:
            async with httpx.AsyncClient(timeout=10) as client:
                answer = await client.get(url)
            return answer.text[:1000]
        """,
        9,
    ),
]
