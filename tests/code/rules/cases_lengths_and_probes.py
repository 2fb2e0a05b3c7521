"""Sizes that the other side of a connection names, and liveness probes that ask others."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_LENGTH = "length-from-peer"
_LIVE = "liveness-asks-others"

CASES = [
    bad(
        _LENGTH,
        "rust",
        """
        use tokio::net::TcpStream;

        async fn next_packet(link: &mut TcpStream) -> std::io::Result<Vec<u8>> {
            let size = link.read_u32().await? as usize;
            let mut packet = vec![0u8; size];
            link.read_exact(&mut packet).await?;
            Ok(packet)
        }
        """,
        4,
    ),
    good(
        _LENGTH,
        "rust",
        """
        use tokio::net::TcpStream;

        async fn next_packet(link: &mut TcpStream) -> std::io::Result<Vec<u8>> {
            let size = link.read_u32().await? as usize;
            if size > LARGEST {
                return Err(std::io::ErrorKind::InvalidData.into());
            }
            let mut packet = vec![0u8; size];
            link.read_exact(&mut packet).await?;
            Ok(packet)
        }
        """,
    ),
    bad(
        _LENGTH,
        "go",
        """
        package wire

        import (
        	"encoding/binary"
        	"io"
        	"net"
        )

        func receive(c net.Conn) ([]byte, error) {
        	var head [4]byte
        	if _, err := io.ReadFull(c, head[:]); err != nil {
        		return nil, err
        	}
        	n := binary.BigEndian.Uint32(head[:])
        	body := make([]byte, n)
        	_, err := io.ReadFull(c, body)
        	return body, err
        }
        """,
        14,
    ),
    good(
        _LENGTH,
        "go",
        """
        package wire

        import (
        	"encoding/binary"
        	"io"
        	"net"
        )

        func receive(c net.Conn) ([]byte, error) {
        	var head [4]byte
        	if _, err := io.ReadFull(c, head[:]); err != nil {
        		return nil, err
        	}
        	n := binary.BigEndian.Uint32(head[:])
        	if n > 1<<20 {
        		return nil, errTooLarge
        	}
        	body := make([]byte, n)
        	_, err := io.ReadFull(c, body)
        	return body, err
        }
        """,
    ),
    bad(
        _LENGTH,
        "python",
        """
        import asyncio
        import struct

        async def receive(reader: asyncio.StreamReader) -> bytes:
            (size,) = struct.unpack("!I", await reader.readexactly(4))
            return await reader.readexactly(size)
        """,
        5,
    ),
    bad(
        _LENGTH,
        "java",
        """
        import java.io.DataInputStream;
        import java.net.Socket;

        class Wire {
            byte[] receive(Socket socket) throws java.io.IOException {
                DataInputStream in = new DataInputStream(socket.getInputStream());
                int size = in.readInt();
                byte[] body = new byte[size];
                in.readFully(body);
                return body;
            }
        }
        """,
        7,
    ),
    # A file of one's own.
    good(
        _LENGTH,
        "python",
        """
        import struct

        def blocks(path):
            with open(path, "rb") as file:
                (size,) = struct.unpack("!I", file.read(4))
                return bytearray(size)
        """,
    ),
    bad(
        _LIVE,
        "python",
        """
        from fastapi import FastAPI

        app = FastAPI()

        @app.get("/health/liveness")
        async def liveness():
            async with engine.connect() as connection:
                await connection.execute("SELECT 1")
            return {"status": "ok"}
        """,
        5,
    ),
    good(
        _LIVE,
        "python",
        """
        from fastapi import FastAPI

        app = FastAPI()

        @app.get("/health/liveness")
        async def liveness():
            return {"status": "ok"}

        @app.get("/health/readiness")
        async def readiness():
            async with engine.connect() as connection:
                await connection.execute("SELECT 1")
            return {"status": "ok"}
        """,
    ),
    bad(
        _LIVE,
        "go",
        """
        package main

        import (
        	"database/sql"
        	"net/http"
        )

        func routes(mux *http.ServeMux, db *sql.DB) {
        	mux.HandleFunc("/livez", func(w http.ResponseWriter, r *http.Request) {
        		if err := db.PingContext(r.Context()); err != nil {
        			w.WriteHeader(http.StatusInternalServerError)
        		}
        	})
        }
        """,
        9,
    ),
    bad(
        _LIVE,
        "javascript",
        """
        app.get('/live', async (req, res) => {
          await upToDate();
          res.send('ok');
        });

        async function upToDate() {
          await pool.query('SELECT 1');
        }
        """,
        1,
    ),
    good(
        _LIVE,
        "javascript",
        """
        app.get('/live', (req, res) => res.send('ok'));
        app.get('/ready', async (req, res) => {
          await pool.query('SELECT 1');
          res.send('ok');
        });
        """,
    ),
    bad(
        _LIVE,
        "csharp",
        """
        builder.Services.AddHealthChecks().AddNpgSql(connection);
        var app = builder.Build();
        app.MapHealthChecks("/healthz/live");
        """,
        3,
    ),
    good(
        _LIVE,
        "csharp",
        """
        builder.Services.AddHealthChecks().AddNpgSql(connection);
        var app = builder.Build();
        app.MapHealthChecks("/healthz/live", new HealthCheckOptions { Predicate = _ => false });
        """,
    ),
]
