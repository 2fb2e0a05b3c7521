"""Reads from connections that nothing ends when the other side falls silent: Go, Rust and C#."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_SOCKET_WITHOUT_TIMEOUT = "socket-without-timeout"

CASES: list[Case] = [
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import (
        	"bufio"
        	"context"
        	"fmt"
        	"net"
        	"time"
        )
        type Client struct {
        	conn net.Conn
        	r    *bufio.Reader
        }
        func Open(ctx context.Context, addr string) (*Client, error) {
        	d := net.Dialer{Timeout: 3 * time.Second}
        	conn, err := d.DialContext(ctx, "tcp", addr)
        	if err != nil {
        		return nil, fmt.Errorf("dial %s: %w", addr, err)
        	}
        	return &Client{conn: conn, r: bufio.NewReader(conn)}, nil
        }
        func (c *Client) Scan(id string) (string, error) {
        	if _, err := fmt.Fprintf(c.conn, "SCAN %s\\n", id); err != nil {
        		return "", err
        	}
        	return c.r.ReadString('\\n')
        }
        """,
        19,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import (
        	"bufio"
        	"context"
        	"fmt"
        	"net"
        	"time"
        )
        type Client struct {
        	conn net.Conn
        	r    *bufio.Reader
        }
        func Open(ctx context.Context, addr string) (*Client, error) {
        	d := net.Dialer{Timeout: 3 * time.Second}
        	conn, err := d.DialContext(ctx, "tcp", addr)
        	if err != nil {
        		return nil, fmt.Errorf("dial %s: %w", addr, err)
        	}
        	return &Client{conn: conn, r: bufio.NewReader(conn)}, nil
        }
        func (c *Client) Scan(id string) (string, error) {
        	if err := c.conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
        		return "", err
        	}
        	if _, err := fmt.Fprintf(c.conn, "SCAN %s\\n", id); err != nil {
        		return "", err
        	}
        	return c.r.ReadString('\\n')
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import (
        	"encoding/binary"
        	"errors"
        	"io"
        	"net"
        	"time"
        )
        var errBadHello = errors.New("bad hello")
        func Session(addr string, handle func([]byte) error) error {
        	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
        	if err != nil {
        		return err
        	}
        	defer conn.Close()
        	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
        		return err
        	}
        	var hello [4]byte
        	if _, err := io.ReadFull(conn, hello[:]); err != nil {
        		return err
        	}
        	if hello != [4]byte{'R', 'L', 'Y', '1'} {
        		return errBadHello
        	}
        	if err := conn.SetDeadline(time.Time{}); err != nil {
        		return err
        	}
        	for {
        		var size uint16
        		if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
        			return err
        		}
        		frame := make([]byte, size)
        		if _, err := io.ReadFull(conn, frame); err != nil {
        			return err
        		}
        		if err := handle(frame); err != nil {
        			return err
        		}
        	}
        }
        """,
        31,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import (
        	"context"
        	"github.com/coder/websocket"
        	"github.com/coder/websocket/wsjson"
        )
        func Consume(ctx context.Context, url string, out chan<- Quote) error {
        	conn, _, err := websocket.Dial(ctx, url, nil)
        	if err != nil {
        		return err
        	}
        	defer conn.CloseNow()
        	for {
        		var quote Quote
        		if err := wsjson.Read(ctx, conn, &quote); err != nil {
        			return err
        		}
        		select {
        		case out <- quote:
        		case <-ctx.Done():
        			return ctx.Err()
        		}
        	}
        }
        """,
        15,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use std::time::Duration;
        use tokio::{
            io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
            net::TcpStream,
            time::timeout,
        };
        const CONNECT: Duration = Duration::from_secs(3);
        pub struct Controller {
            reader: BufReader<tokio::net::tcp::OwnedReadHalf>,
            writer: tokio::net::tcp::OwnedWriteHalf,
        }
        impl Controller {
            pub async fn open(addr: &str) -> anyhow::Result<Self> {
                let stream = timeout(CONNECT, TcpStream::connect(addr)).await??;
                let (rd, writer) = stream.into_split();
                Ok(Self { reader: BufReader::new(rd), writer })
            }
            pub async fn temperature(&mut self) -> anyhow::Result<f64> {
                self.writer.write_all(b"TEMP?\\n").await?;
                let mut line = String::new();
                self.reader.read_line(&mut line).await?;
                Ok(line.trim().parse()?)
            }
        }
        """,
        21,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use std::time::Duration;
        use tokio::{
            io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
            net::TcpStream,
            time::timeout,
        };
        const CONNECT: Duration = Duration::from_secs(3);
        const ANSWER: Duration = Duration::from_secs(5);
        pub struct Controller {
            reader: BufReader<tokio::net::tcp::OwnedReadHalf>,
            writer: tokio::net::tcp::OwnedWriteHalf,
        }
        impl Controller {
            pub async fn open(addr: &str) -> anyhow::Result<Self> {
                let stream = timeout(CONNECT, TcpStream::connect(addr)).await??;
                let (rd, writer) = stream.into_split();
                Ok(Self { reader: BufReader::new(rd), writer })
            }
            pub async fn temperature(&mut self) -> anyhow::Result<f64> {
                timeout(ANSWER, self.exchange()).await?
            }
            async fn exchange(&mut self) -> anyhow::Result<f64> {
                self.writer.write_all(b"TEMP?\\n").await?;
                let mut line = String::new();
                self.reader.read_line(&mut line).await?;
                Ok(line.trim().parse()?)
            }
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use std::{
            io::{BufRead, BufReader, Write},
            net::{SocketAddr, TcpStream},
            time::Duration,
        };
        pub fn query(addr: &SocketAddr, command: &str) -> std::io::Result<String> {
            let mut stream = TcpStream::connect_timeout(addr, Duration::from_secs(3))?;
            stream.write_all(command.as_bytes())?;
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line)?;
            Ok(line)
        }
        """,
        10,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use std::{
            io::{BufRead, BufReader, Write},
            net::{SocketAddr, TcpStream},
            time::Duration,
        };
        pub fn query(addr: &SocketAddr, command: &str) -> std::io::Result<String> {
            let mut stream = TcpStream::connect_timeout(addr, Duration::from_secs(3))?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(command.as_bytes())?;
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line)?;
            Ok(line)
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use tokio::net::UdpSocket;
        pub async fn discover(target: &str) -> std::io::Result<Vec<u8>> {
            let socket = UdpSocket::bind("0.0.0.0:0").await?;
            socket.send_to(b"DISCOVER", target).await?;
            let mut buf = vec![0u8; 1500];
            let (n, _) = socket.recv_from(&mut buf).await?;
            buf.truncate(n);
            Ok(buf)
        }
        """,
        6,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use std::time::Duration;
        use tokio::{net::UdpSocket, time::timeout};
        pub async fn discover(target: &str) -> std::io::Result<Vec<u8>> {
            let socket = UdpSocket::bind("0.0.0.0:0").await?;
            socket.send_to(b"DISCOVER", target).await?;
            let mut buf = vec![0u8; 1500];
            let (n, _) = timeout(Duration::from_secs(2), socket.recv_from(&mut buf)).await??;
            buf.truncate(n);
            Ok(buf)
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use std::time::Duration;
        use futures_util::StreamExt;
        use tokio::time::timeout;
        use tokio_tungstenite::{connect_async, tungstenite::Message};
        pub async fn consume(url: &str, sink: &Sink) -> anyhow::Result<()> {
            let (mut socket, _) = timeout(Duration::from_secs(10), connect_async(url)).await??;
            while let Some(message) = socket.next().await {
                if let Message::Text(text) = message? {
                    sink.push(&text).await?;
                }
            }
            Ok(())
        }
        """,
        7,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "rust",
        """
        use std::time::Duration;
        use futures_util::StreamExt;
        use tokio::time::timeout;
        use tokio_tungstenite::{connect_async, tungstenite::Message};
        const SILENCE: Duration = Duration::from_secs(60);
        pub async fn consume(url: &str, sink: &Sink) -> anyhow::Result<()> {
            let (mut socket, _) = timeout(Duration::from_secs(10), connect_async(url)).await??;
            while let Some(message) = timeout(SILENCE, socket.next()).await? {
                if let Message::Text(text) = message? {
                    sink.push(&text).await?;
                }
            }
            Ok(())
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Net;
        using System.Net.Sockets;
        public sealed class TrackerListener : BackgroundService
        {
            private readonly ITrackSink _sink;
            public TrackerListener(ITrackSink sink) => _sink = sink;
            protected override async Task ExecuteAsync(CancellationToken stoppingToken)
            {
                var listener = new TcpListener(IPAddress.Any, 5027);
                listener.Start(128);
                while (!stoppingToken.IsCancellationRequested)
                {
                    var client = await listener.AcceptTcpClientAsync(stoppingToken);
                    _ = ServeAsync(client, stoppingToken);
                }
            }
            private async Task ServeAsync(TcpClient client, CancellationToken ct)
            {
                using (client)
                {
                    var stream = client.GetStream();
                    var header = new byte[8];
                    while (true)
                    {
                        await stream.ReadExactlyAsync(header, ct);
                        await _sink.WriteAsync(header, ct);
                    }
                }
            }
        }
        """,
        25,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Net.Sockets;
        public sealed class BridgeClient
        {
            private static readonly TimeSpan Limit = TimeSpan.FromSeconds(4);
            public async Task<string> WeighAsync(string host, int port, CancellationToken ct)
            {
                using var client = new TcpClient();
                using (var connect = CancellationTokenSource.CreateLinkedTokenSource(ct))
                {
                    connect.CancelAfter(Limit);
                    await client.ConnectAsync(host, port, connect.Token);
                }
                await using var stream = client.GetStream();
                using var reader = new StreamReader(stream);
                await stream.WriteAsync("W\\r\\n"u8.ToArray(), ct);
                var line = await reader.ReadLineAsync(ct);
                return line ?? throw new IOException("bridge closed the connection");
            }
        }
        """,
        16,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Net.Sockets;
        public sealed class BridgeClient
        {
            private static readonly TimeSpan Limit = TimeSpan.FromSeconds(4);
            public async Task<string> WeighAsync(string host, int port, CancellationToken ct)
            {
                using var limit = CancellationTokenSource.CreateLinkedTokenSource(ct);
                limit.CancelAfter(Limit);
                using var client = new TcpClient();
                await client.ConnectAsync(host, port, limit.Token);
                await using var stream = client.GetStream();
                using var reader = new StreamReader(stream);
                await stream.WriteAsync("W\\r\\n"u8.ToArray(), limit.Token);
                var line = await reader.ReadLineAsync(limit.Token);
                return line ?? throw new IOException("bridge closed the connection");
            }
        }
        """,
    ),
    bad(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Net.Sockets;
        public sealed class Finder
        {
            public async Task<byte[]> FindAsync(string host, CancellationToken stoppingToken)
            {
                using var udp = new UdpClient();
                await udp.SendAsync("WHO"u8.ToArray(), host, 9999, stoppingToken);
                var answer = await udp.ReceiveAsync(stoppingToken);
                return answer.Buffer;
            }
        }
        """,
        8,
    ),
    good(
        _SOCKET_WITHOUT_TIMEOUT,
        "csharp",
        """
        using System.Net;
        using System.Net.Sockets;
        public sealed class TrackerListener : BackgroundService
        {
            private static readonly TimeSpan Idle = TimeSpan.FromMinutes(2);
            private readonly ITrackSink _sink;
            private readonly ILogger<TrackerListener> _logger;
            public TrackerListener(ITrackSink sink, ILogger<TrackerListener> logger)
            {
                _sink = sink;
                _logger = logger;
            }
            protected override async Task ExecuteAsync(CancellationToken stoppingToken)
            {
                var listener = new TcpListener(IPAddress.Any, 5027);
                listener.Start(128);
                using var slots = new SemaphoreSlim(500);
                while (!stoppingToken.IsCancellationRequested)
                {
                    await slots.WaitAsync(stoppingToken);
                    var client = await listener.AcceptTcpClientAsync(stoppingToken);
                    _ = ServeAsync(client, slots, stoppingToken);
                }
            }
            private async Task ServeAsync(TcpClient client, SemaphoreSlim slots, CancellationToken stoppingToken)
            {
                try
                {
                    using (client)
                    {
                        var stream = client.GetStream();
                        var header = new byte[8];
                        while (true)
                        {
                            using var limit = CancellationTokenSource.CreateLinkedTokenSource(stoppingToken);
                            limit.CancelAfter(Idle);
                            await stream.ReadExactlyAsync(header, limit.Token);
                            await _sink.WriteAsync(header, stoppingToken);
                        }
                    }
                }
                catch (Exception ex) when (ex is IOException or EndOfStreamException or OperationCanceledException)
                {
                    _logger.LogInformation(ex, "Tracker left");
                }
                finally
                {
                    slots.Release();
                }
            }
        }
        """,
    ),
]
