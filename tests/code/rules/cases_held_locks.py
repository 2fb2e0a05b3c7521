"""Locks over a whole collection that are held while one of its items waits."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "lock-held-over-io"

CASES = [
    bad(
        _RULE,
        "rust",
        """
        async fn order(&self, id: &str) -> Result<()> {
            let peers = self.peers.lock().await;
            let peer = peers.get(id).ok_or(Gone)?;
            exchange(peer, b"GO").await?;
            Ok(())
        }

        async fn all(&self, note: Note) {
            let peers = self.peers.lock().await;
            for peer in peers.values() {
                peer.send(note.clone()).await;
            }
        }

        async fn one(&self, id: &str) {
            if let Some(peer) = self.peers.lock().await.get_mut(id) {
                peer.write(b"GO").await;
            }
        }

        fn shout(&self) {
            let mut peers = self.peers.lock().unwrap();
            for peer in peers.values_mut() {
                peer.stream.write_all(b"GO").ok();
            }
        }
        """,
        2,
        9,
        16,
        22,
    ),
    good(
        _RULE,
        "rust",
        """
        async fn order(&self, id: &str) -> Result<()> {
            let peer = {
                let peers = self.peers.lock().await;
                peers.get(id).cloned().ok_or(Gone)?
            };
            exchange(&peer, b"GO").await?;
            Ok(())
        }

        async fn all(&self, note: Note) {
            let peers = self.peers.lock().await;
            let found: Vec<Peer> = peers.values().cloned().collect();
            drop(peers);
            for peer in found {
                peer.send(note.clone()).await;
            }
        }

        async fn write(&self) -> Result<()> {
            let mut stream = self.stream.lock().await;
            stream.write_all(b"GO").await?;
            if let Some(other) = &mut *(self.other.lock().await) {
                other.flush().await?;
            }
            Ok(())
        }
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package hub

        import "github.com/gorilla/websocket"

        func (h *Hub) All(v any) {
        	h.mu.RLock()
        	defer h.mu.RUnlock()
        	for _, c := range h.conns {
        		c.WriteJSON(v)
        	}
        }

        func (h *Hub) Publish(v Event) {
        	h.mu.Lock()
        	for _, s := range h.subs {
        		s.ch <- v
        	}
        	h.mu.Unlock()
        }
        """,
        9,
        16,
    ),
    good(
        _RULE,
        "go",
        """
        package hub

        import "github.com/gorilla/websocket"

        func (h *Hub) All(v any) {
        	h.mu.RLock()
        	conns := slices.Clone(h.conns)
        	h.mu.RUnlock()
        	for _, c := range conns {
        		c.WriteJSON(v)
        	}
        }

        func (h *Hub) Publish(v Event) {
        	h.mu.Lock()
        	defer h.mu.Unlock()
        	for _, s := range h.subs {
        		select {
        		case s.ch <- v:
        		default:
        		}
        	}
        	h.done <- struct{}{}
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import asyncio

        class Devices:
            def __init__(self):
                self._lock = asyncio.Lock()
                self._devices = {}

            async def ask(self, name, text):
                async with self._lock:
                    reader, writer = self._devices[name]
                    writer.write(text)
                    await writer.drain()
                    return await reader.readline()
        """,
        9,
    ),
    bad(
        _RULE,
        "java",
        """
        class Devices {
            private final Map<String, Socket> sockets = new HashMap<>();

            public synchronized void send(String name, byte[] text) throws IOException {
                Socket socket = sockets.get(name);
                socket.getOutputStream().write(text);
            }
        }
        """,
        4,
    ),
    good(
        _RULE,
        "java",
        """
        class Devices {
            private final Map<String, Socket> sockets = new ConcurrentHashMap<>();

            public void send(String name, byte[] text) throws IOException {
                Socket socket = sockets.get(name);
                synchronized (socket) {
                    socket.getOutputStream().write(text);
                }
            }

            public synchronized void note(String name) {
                StringBuilder text = texts.get(name);
                text.append(name);
            }
        }
        """,
    ),
    good(
        _RULE,
        "python",
        """
        import asyncio

        class Devices:
            async def ask(self, name, text):
                async with self._lock:
                    reader, writer, own = self._devices[name]
                async with own:
                    writer.write(text)
                    return await reader.readline()
        """,
    ),
]
