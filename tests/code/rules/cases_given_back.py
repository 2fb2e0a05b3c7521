"""Connections, channels and idle objects that are given back on one way only."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "released-on-success-only"

CASES = [
    bad(
        _RULE,
        "typescript",
        """
        import { Pool } from "pg";
        export class Orders {
          constructor(private readonly pool: Pool) {}
          async cancel(id: string): Promise<boolean> {
            const client = await this.pool.connect();
            const { rows } = await client.query("SELECT state FROM orders WHERE id = $1", [id]);
            if (rows.length === 0) {
              return false;
            }
            try {
              await client.query("UPDATE orders SET state = 'cancelled' WHERE id = $1", [id]);
              return true;
            } finally {
              client.release();
            }
          }
        }
        """,
        5,
    ),
    good(
        _RULE,
        "typescript",
        """
        import { Pool } from "pg";
        export class Orders {
          constructor(private readonly pool: Pool) {}
          async cancel(id: string): Promise<boolean> {
            const client = await this.pool.connect();
            try {
              const { rows } = await client.query("SELECT state FROM orders WHERE id = $1", [id]);
              if (rows.length === 0) {
                return false;
              }
              await client.query("UPDATE orders SET state = 'cancelled' WHERE id = $1", [id]);
              return true;
            } finally {
              client.release();
            }
          }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import paramiko
        def download(host, user, key, remote, local):
            client = paramiko.SSHClient()
            client.set_missing_host_key_policy(paramiko.RejectPolicy())
            client.connect(host, username=user, pkey=key, timeout=10)
            sftp = client.open_sftp()
            sftp.get(remote, local)
            sftp.close()
            client.close()
        """,
        3,
        6,
    ),
    good(
        _RULE,
        "python",
        """
        import paramiko
        def download(host, user, key, remote, local):
            with paramiko.SSHClient() as client:
                client.set_missing_host_key_policy(paramiko.RejectPolicy())
                client.connect(host, username=user, pkey=key, timeout=10)
                with client.open_sftp() as sftp:
                    sftp.get(remote, local)
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        using Renci.SshNet;
        public class StatementFetcher
        {
            public void Fetch(string host, string user, string pass, string remote, Stream target)
            {
                var client = new SftpClient(host, user, pass);
                client.Connect();
                client.DownloadFile(remote, target);
                client.Disconnect();
                client.Dispose();
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "csharp",
        """
        using Renci.SshNet;
        public class StatementFetcher
        {
            public void Fetch(string host, string user, string pass, string remote, Stream target)
            {
                using var client = new SftpClient(host, user, pass);
                client.Connect();
                client.DownloadFile(remote, target);
                client.Disconnect();
            }
        }
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package a
        import ("io"; "os"; "github.com/pkg/sftp"; "golang.org/x/crypto/ssh")
        func Fetch(conn *ssh.Client, remote string, w io.Writer) error {
            client, err := sftp.NewClient(conn)
            if err != nil {
                return err
            }
            f, err := client.Open(remote)
            if err != nil {
                return err
            }
            if _, err := io.Copy(w, f); err != nil {
                return err
            }
            f.Close()
            return client.Close()
        }
        """,
        4,
    ),
    good(
        _RULE,
        "go",
        """
        package a
        import ("io"; "os"; "github.com/pkg/sftp"; "golang.org/x/crypto/ssh")
        func Fetch(conn *ssh.Client, remote string, w io.Writer) error {
            client, err := sftp.NewClient(conn)
            if err != nil {
                return err
            }
            defer client.Close()
            f, err := client.Open(remote)
            if err != nil {
                return err
            }
            defer f.Close()
            _, err = io.Copy(w, f)
            return err
        }
        """,
    ),
    bad(
        _RULE,
        "typescript",
        """
        import SftpClient from "ssh2-sftp-client";
        export async function upload(config: SftpConfig, local: string, remote: string): Promise<void> {
          const sftp = new SftpClient();
          await sftp.connect(config);
          await sftp.put(local, remote);
          await sftp.end();
        }
        """,
        3,
    ),
    good(
        _RULE,
        "typescript",
        """
        import SftpClient from "ssh2-sftp-client";
        export async function upload(config: SftpConfig, local: string, remote: string): Promise<void> {
          const sftp = new SftpClient();
          try {
            await sftp.connect(config);
            await sftp.put(local, remote);
          } finally {
            await sftp.end();
          }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        package a
        import com.rabbitmq.client.ConnectionFactory
        class Publisher(private val factory: ConnectionFactory) {
            fun publish(body: ByteArray) {
                val connection = factory.newConnection()
                val channel = connection.createChannel()
                channel.basicPublish("events", "created", null, body)
                channel.close()
                connection.close()
            }
        }
        """,
        5,
        6,
    ),
    good(
        _RULE,
        "kotlin",
        """
        package a
        import com.rabbitmq.client.ConnectionFactory
        class Publisher(private val factory: ConnectionFactory) {
            fun publish(body: ByteArray) {
                factory.newConnection().use { connection ->
                    connection.createChannel().use { channel ->
                        channel.basicPublish("events", "created", null, body)
                    }
                }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        package a;
        import com.rabbitmq.client.*;
        public class Audit {
            private final Connection connection;
            public Audit(Connection connection) { this.connection = connection; }
            public void send(byte[] body) throws Exception {
                Channel channel = connection.createChannel();
                channel.basicPublish("audit", "", null, body);
                channel.close();
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "java",
        """
        package a;
        import com.rabbitmq.client.*;
        public class Audit {
            private final Connection connection;
            public Audit(Connection connection) { this.connection = connection; }
            public void send(byte[] body) throws Exception {
                try (Channel channel = connection.createChannel()) {
                    channel.basicPublish("audit", "", null, body);
                }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import queue
        class Browsers:
            def __init__(self, browsers):
                self._idle = queue.Queue()
                for b in browsers:
                    self._idle.put(b)
            def screenshot(self, url: str) -> bytes:
                browser = self._idle.get(timeout=5)
                page = browser.open(url)
                image = page.screenshot()
                self._idle.put(browser)
                return image
        """,
        8,
    ),
    good(
        _RULE,
        "python",
        """
        import queue
        class Browsers:
            def __init__(self, browsers):
                self._idle = queue.Queue()
                for b in browsers:
                    self._idle.put(b)
            def screenshot(self, url: str) -> bytes:
                browser = self._idle.get(timeout=5)
                try:
                    page = browser.open(url)
                    return page.screenshot()
                finally:
                    self._idle.put(browser)
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        package a;
        import java.util.concurrent.*;
        public class Engines {
            private final BlockingQueue<Engine> idle = new ArrayBlockingQueue<>(4);
            public String render(String template) throws InterruptedException {
                Engine engine = idle.take();
                String html = engine.render(template);
                idle.put(engine);
                return html;
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "java",
        """
        package a;
        import java.util.concurrent.*;
        public class Engines {
            private final BlockingQueue<Engine> idle = new ArrayBlockingQueue<>(4);
            public String render(String template) throws InterruptedException {
                Engine engine = idle.take();
                try {
                    return engine.render(template);
                } finally {
                    idle.put(engine);
                }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        using System.Threading.Channels;
        public class Workers
        {
            private readonly Channel<Engine> _idle = Channel.CreateBounded<Engine>(4);
            public async Task<string> RunAsync(string input, CancellationToken ct)
            {
                var engine = await _idle.Reader.ReadAsync(ct);
                var result = await engine.RunAsync(input, ct);
                await _idle.Writer.WriteAsync(engine, CancellationToken.None);
                return result;
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "csharp",
        """
        using System.Threading.Channels;
        public class Workers
        {
            private readonly Channel<Engine> _idle = Channel.CreateBounded<Engine>(4);
            public async Task<string> RunAsync(string input, CancellationToken ct)
            {
                var engine = await _idle.Reader.ReadAsync(ct);
                try { return await engine.RunAsync(input, ct); }
                finally { await _idle.Writer.WriteAsync(engine, CancellationToken.None); }
            }
        }
        """,
    ),
    good(
        _RULE,
        "kotlin",
        """
        import java.io.FileInputStream
        fun md5(file: File): String {
            val input = FileInputStream(file)
            return input.use { digest(it) }
        }
        """,
    ),
]
