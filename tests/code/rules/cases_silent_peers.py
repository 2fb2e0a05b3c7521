"""Reads from connections, and waits for answers, that nothing ends when the other side falls silent."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_SOCKET_WITHOUT_TIMEOUT = "socket-without-timeout"

CASES: list[Case] = [
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import asyncio
        import logging
        log = logging.getLogger(__name__)
        class PlcLink:
            def __init__(self, host: str, port: int) -> None:
                self._host = host
                self._port = port
                self._reader: asyncio.StreamReader | None = None
                self._writer: asyncio.StreamWriter | None = None
            async def connect(self) -> None:
                self._reader, self._writer = await asyncio.wait_for(
                    asyncio.open_connection(self._host, self._port), timeout=5
                )
            async def query(self, register: int) -> bytes:
                assert self._reader and self._writer
                self._writer.write(register.to_bytes(2, "big"))
                await self._writer.drain()
                size = int.from_bytes(await self._reader.readexactly(2), "big")
                return await self._reader.readexactly(size)
        """,
        18,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import asyncio
        import logging
        log = logging.getLogger(__name__)
        class PlcLink:
            def __init__(self, host: str, port: int) -> None:
                self._host = host
                self._port = port
                self._reader: asyncio.StreamReader | None = None
                self._writer: asyncio.StreamWriter | None = None
            async def connect(self) -> None:
                self._reader, self._writer = await asyncio.wait_for(
                    asyncio.open_connection(self._host, self._port), timeout=5
                )
            async def query(self, register: int) -> bytes:
                assert self._reader and self._writer
                self._writer.write(register.to_bytes(2, "big"))
                await self._writer.drain()
                async with asyncio.timeout(5):
                    return await self._read_answer(self._reader)
            async def _read_answer(self, reader: asyncio.StreamReader) -> bytes:
                size = int.from_bytes(await reader.readexactly(2), "big")
                return await reader.readexactly(size)
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import asyncio
        class TrackerServer:
            async def _read_packet(self, reader: asyncio.StreamReader) -> bytes:
                header = await reader.readexactly(4)
                size = int.from_bytes(header, "big")
                if size > 4096:
                    raise ValueError("packet too large")
                return await reader.readexactly(size)
            async def _handle(self, reader, writer):
                try:
                    while True:
                        packet = await self._read_packet(reader)
                        await self._store(packet)
                finally:
                    writer.close()
            async def _store(self, packet: bytes) -> None:
                await self.sink.put(packet)
            async def serve(self, host: str, port: int) -> None:
                server = await asyncio.start_server(self._handle, host, port)
                async with server:
                    await server.serve_forever()
        """,
        4,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import asyncio
        class TrackerServer:
            async def _read_packet(self, reader: asyncio.StreamReader) -> bytes:
                header = await reader.readexactly(4)
                size = int.from_bytes(header, "big")
                if size > 4096:
                    raise ValueError("packet too large")
                return await reader.readexactly(size)
            async def _handle(self, reader, writer):
                try:
                    while True:
                        packet = await asyncio.wait_for(self._read_packet(reader), 120)
                        await self._store(packet)
                finally:
                    writer.close()
            async def _store(self, packet: bytes) -> None:
                await self.sink.put(packet)
            async def serve(self, host: str, port: int) -> None:
                server = await asyncio.start_server(self._handle, host, port)
                async with server:
                    await server.serve_forever()
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import socket
        import struct
        def query_offset(host: str) -> float:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                sock.sendto(b"\\x1b" + 47 * b"\\0", (host, 123))
                data, _ = sock.recvfrom(48)
            finally:
                sock.close()
            return struct.unpack("!12I", data)[10]
        """,
        7,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import socket
        import struct
        def query_offset(host: str) -> float:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.settimeout(3)
            try:
                sock.sendto(b"\\x1b" + 47 * b"\\0", (host, 123))
                data, _ = sock.recvfrom(48)
            finally:
                sock.close()
            return struct.unpack("!12I", data)[10]
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import serial
        class Scale:
            def __init__(self, port: str) -> None:
                self._serial = serial.Serial(port, baudrate=9600)
            def weigh(self) -> float:
                self._serial.write(b"W\\r\\n")
                line = self._serial.readline()
                return float(line.decode("ascii").strip().removesuffix("kg"))
        """,
        4,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import serial
        class Scale:
            def __init__(self, port: str) -> None:
                self._serial = serial.Serial(port, baudrate=9600, timeout=2)
            def weigh(self) -> float:
                self._serial.write(b"W\\r\\n")
                line = self._serial.readline()
                return float(line.decode("ascii").strip().removesuffix("kg"))
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import socket
        class Printer:
            def __init__(self, host: str, port: int = 9100) -> None:
                self._sock = socket.create_connection((host, port), timeout=3)
                self._sock.settimeout(None)
            def status(self) -> bytes:
                self._sock.sendall(b"~HS")
                return self._sock.recv(256)
        """,
        5,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import zmq
        class PriceClient:
            def __init__(self, address: str) -> None:
                self._socket = zmq.Context.instance().socket(zmq.REQ)
                self._socket.connect(address)
            def price(self, sku: str) -> int:
                self._socket.send_json({"sku": sku})
                answer = self._socket.recv_json()
                return answer["cents"]
        """,
        8,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "python",
        """
        import zmq
        class PriceClient:
            def __init__(self, address: str) -> None:
                self._socket = zmq.Context.instance().socket(zmq.REQ)
                self._socket.setsockopt(zmq.RCVTIMEO, 3000)
                self._socket.setsockopt(zmq.LINGER, 0)
                self._socket.connect(address)
            def price(self, sku: str) -> int:
                self._socket.send_json({"sku": sku})
                answer = self._socket.recv_json()
                return answer["cents"]
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.BufferedReader;
        import java.io.IOException;
        import java.io.InputStreamReader;
        import java.io.OutputStreamWriter;
        import java.io.Writer;
        import java.net.InetSocketAddress;
        import java.net.Socket;
        import java.nio.charset.StandardCharsets;
        public class CraneGateway {
            private static final int CONNECT_TIMEOUT_MS = 3_000;
            private final InetSocketAddress address;
            public CraneGateway(InetSocketAddress address) {
                this.address = address;
            }
            public String position(String crane) throws IOException {
                try (Socket socket = new Socket()) {
                    socket.connect(address, CONNECT_TIMEOUT_MS);
                    Writer out = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.US_ASCII);
                    out.write("POS " + crane + "\\r\\n");
                    out.flush();
                    BufferedReader in = new BufferedReader(
                        new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
                    return in.readLine();
                }
            }
        }
        """,
        17,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.BufferedReader;
        import java.io.IOException;
        import java.io.InputStreamReader;
        import java.io.OutputStreamWriter;
        import java.io.Writer;
        import java.net.InetSocketAddress;
        import java.net.Socket;
        import java.nio.charset.StandardCharsets;
        public class CraneGateway {
            private static final int CONNECT_TIMEOUT_MS = 3_000;
            private static final int READ_TIMEOUT_MS = 5_000;
            private final InetSocketAddress address;
            public CraneGateway(InetSocketAddress address) {
                this.address = address;
            }
            public String position(String crane) throws IOException {
                try (Socket socket = new Socket()) {
                    socket.connect(address, CONNECT_TIMEOUT_MS);
                    socket.setSoTimeout(READ_TIMEOUT_MS);
                    Writer out = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.US_ASCII);
                    out.write("POS " + crane + "\\r\\n");
                    out.flush();
                    BufferedReader in = new BufferedReader(
                        new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
                    return in.readLine();
                }
            }
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "kotlin",
        """
        import java.io.DataInputStream
        import java.io.DataOutputStream
        import java.net.InetSocketAddress
        import java.net.Socket
        class MeterGateway(private val host: String, private val port: Int) {
            fun readRegister(register: Int): Int {
                Socket().use { socket ->
                    socket.connect(InetSocketAddress(host, port), 5_000)
                    DataOutputStream(socket.getOutputStream()).run {
                        writeShort(register)
                        flush()
                    }
                    return DataInputStream(socket.getInputStream()).readInt()
                }
            }
        }
        """,
        8,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "kotlin",
        """
        import java.io.DataInputStream
        import java.io.DataOutputStream
        import java.net.InetSocketAddress
        import java.net.Socket
        class MeterGateway(private val host: String, private val port: Int) {
            fun readRegister(register: Int): Int {
                Socket().use { socket ->
                    socket.connect(InetSocketAddress(host, port), 5_000)
                    socket.soTimeout = 5_000
                    DataOutputStream(socket.getOutputStream()).run {
                        writeShort(register)
                        flush()
                    }
                    return DataInputStream(socket.getInputStream()).readInt()
                }
            }
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "kotlin",
        """
        import io.ktor.network.selector.SelectorManager
        import io.ktor.network.sockets.aSocket
        import io.ktor.network.sockets.openReadChannel
        import io.ktor.network.sockets.openWriteChannel
        import io.ktor.utils.io.readUTF8Line
        import io.ktor.utils.io.writeStringUtf8
        import kotlinx.coroutines.withTimeout
        class RelayClient(private val selector: SelectorManager) {
            suspend fun status(host: String): String {
                val socket = withTimeout(3_000) { aSocket(selector).tcp().connect(host, 4001) }
                socket.use {
                    val output = it.openWriteChannel(autoFlush = true)
                    val input = it.openReadChannel()
                    output.writeStringUtf8("STATUS\\r\\n")
                    return input.readUTF8Line() ?: error("relay closed the connection")
                }
            }
        }
        """,
        15,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "kotlin",
        """
        import io.ktor.network.selector.SelectorManager
        import io.ktor.network.sockets.aSocket
        import io.ktor.network.sockets.openReadChannel
        import io.ktor.network.sockets.openWriteChannel
        import io.ktor.utils.io.readUTF8Line
        import io.ktor.utils.io.writeStringUtf8
        import kotlinx.coroutines.withTimeout
        class RelayClient(private val selector: SelectorManager) {
            suspend fun status(host: String): String = withTimeout(5_000) {
                aSocket(selector).tcp().connect(host, 4001).use {
                    val output = it.openWriteChannel(autoFlush = true)
                    val input = it.openReadChannel()
                    output.writeStringUtf8("STATUS\\r\\n")
                    input.readUTF8Line() ?: error("relay closed the connection")
                }
            }
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "javascript",
        """
        import net from 'node:net';
        export function sendLabel(host, port, label) {
          return new Promise((resolve, reject) => {
            const socket = net.connect({ host, port, timeout: 5000 });
            let answer = '';
            socket.on('connect', () => socket.write(label));
            socket.on('data', (chunk) => {
              answer += chunk.toString('ascii');
              if (answer.endsWith('\\n')) {
                socket.end();
                resolve(answer.trim());
              }
            });
            socket.on('error', reject);
          });
        }
        """,
        4,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "javascript",
        """
        import net from 'node:net';
        export function sendLabel(host, port, label) {
          return new Promise((resolve, reject) => {
            const socket = net.connect({ host, port, timeout: 5000 });
            let answer = '';
            socket.on('connect', () => socket.write(label));
            socket.on('data', (chunk) => {
              answer += chunk.toString('ascii');
              if (answer.endsWith('\\n')) {
                socket.end();
                resolve(answer.trim());
              }
            });
            socket.on('timeout', () => socket.destroy(new Error('printer did not answer')));
            socket.on('error', reject);
          });
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "java",
        """
        import java.io.IOException;
        import java.net.DatagramPacket;
        import java.net.DatagramSocket;
        import java.net.InetAddress;
        public class RadiusClient {
            public byte[] authenticate(InetAddress server, byte[] request) throws IOException {
                try (DatagramSocket socket = new DatagramSocket()) {
                    socket.send(new DatagramPacket(request, request.length, server, 1812));
                    byte[] buffer = new byte[4096];
                    DatagramPacket answer = new DatagramPacket(buffer, buffer.length);
                    socket.receive(answer);
                    return java.util.Arrays.copyOf(buffer, answer.getLength());
                }
            }
        }
        """,
        11,
    ),
]
