"""Promises that nothing awaits, answers of functions that nothing looks at."""

# ruff: noqa: E101  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "rejection-in-callback",
        "javascript",
        """
    class Sweeper {
      start() {
        this.timer = setInterval(async () => {
          if (this.running) return;
          this.running = true;
          try {
            await this.sweep();
          } finally {
            this.running = false;
          }
        }, 5000);
      }
      async sweep() {
        await this.pool.query('UPDATE a SET b = 1');
      }
    }
    """,
        3,
    ),
    good(
        "rejection-in-callback",
        "javascript",
        """
    class Sweeper {
      start() {
        this.timer = setInterval(async () => {
          try {
            await this.sweep();
          } catch (err) {
            this.logger.error({ err }, 'sweep failed');
          }
        }, 5000);
      }
      async sweep() {
        await this.pool.query('UPDATE a SET b = 1');
      }
    }
    """,
    ),
    bad(
        "rejection-in-callback",
        "javascript",
        """
    async function load(rows, store) {
      let batch = [];
      rows.on('data', async (row) => {
        batch.push(row);
        if (batch.length >= 500) {
          const full = batch;
          batch = [];
          await store.insert(full);
        }
      });
      await once(rows, 'end');
    }
    """,
        3,
    ),
    bad(
        "rejection-in-callback",
        "javascript",
        """
    async function digest(db, run, members) {
      const failed = [];
      members.forEach(async (member) => {
        try {
          await sendDigest(run, member);
        } catch (err) {
          logger.warn({ err }, 'digest not sent');
          failed.push(member.id);
        }
      });
      if (failed.length > 0) throw new Error('digest failed');
      await db('runs').where({ id: run.id }).update({ sent_at: db.fn.now() });
    }
    """,
        3,
    ),
    good(
        "rejection-in-callback",
        "javascript",
        """
    function broadcast(sockets, event) {
      sockets.forEach(async (socket) => {
        try {
          await socket.deliver(event);
        } catch (err) {
          logger.warn({ err }, 'not delivered');
        }
      });
    }
    """,
    ),
    bad(
        "promise-leaves-try",
        "typescript",
        """
    export class Pipeline {
      private async handle(record: string): Promise<Result> {
        try {
          const event = DocumentEvent.parse(JSON.parse(record));
          return this.index(event);
        } catch (err) {
          this.logger.warn({ err }, 'document could not be indexed');
          await this.park(record, err);
          return 'parked';
        }
      }
      private async index(event: DocumentEvent): Promise<Result> {
        await this.search.index(event);
        return 'indexed';
      }
    }
    """,
        5,
    ),
    good(
        "promise-leaves-try",
        "typescript",
        """
    export class Pipeline {
      private async handle(record: string): Promise<Result> {
        try {
          return await this.index(JSON.parse(record));
        } catch (err) {
          await this.park(record, err);
          return 'parked';
        }
      }
      private async index(event: DocumentEvent): Promise<Result> {
        await this.search.index(event);
        return 'indexed';
      }
    }
    """,
    ),
    good(
        "promise-leaves-try",
        "typescript",
        """
    export class Pipeline {
      private async handle(record: string): Promise<Result> {
        let event: DocumentEvent;
        try {
          event = JSON.parse(record);
        } catch (err) {
          return this.park(record, err);
        }
        return this.index(event);
      }
      private async index(event: DocumentEvent): Promise<Result> {
        await this.search.index(event);
        return 'indexed';
      }
    }
    """,
    ),
    bad(
        "failed-message-dropped",
        "javascript",
        """
    const { SQSClient, DeleteMessageBatchCommand } = require('@aws-sdk/client-sqs');
    async function handleBatch(queueUrl, messages) {
      const results = await Promise.allSettled(messages.map(handleMessage));
      results.forEach((result, i) => {
        if (result.status === 'rejected') {
          logger.error({ err: result.reason, messageId: messages[i].MessageId }, 'notification failed');
        }
      });
      await sqs.send(new DeleteMessageBatchCommand({
        QueueUrl: queueUrl,
        Entries: messages.map((message) => ({ Id: message.MessageId, ReceiptHandle: message.ReceiptHandle })),
      }));
    }
    """,
        3,
    ),
    good(
        "failed-message-dropped",
        "javascript",
        """
    const { SQSClient, DeleteMessageBatchCommand } = require('@aws-sdk/client-sqs');
    async function handleBatch(queueUrl, messages) {
      const results = await Promise.allSettled(messages.map(handleMessage));
      const done = messages.filter((_, i) => results[i].status === 'fulfilled');
      await sqs.send(new DeleteMessageBatchCommand({
        QueueUrl: queueUrl,
        Entries: done.map((message) => ({ Id: message.MessageId, ReceiptHandle: message.ReceiptHandle })),
      }));
    }
    """,
    ),
    bad(
        "failed-message-dropped",
        "csharp",
        """
    public sealed class InvoiceMailProcessor
    {
        private async Task OnMessageAsync(ProcessMessageEventArgs args)
        {
            var mail = args.Message.Body.ToObjectFromJson<InvoiceMail>();
            await TryDeliverAsync(mail, args.CancellationToken);
            await args.CompleteMessageAsync(args.Message, args.CancellationToken);
        }

        private async Task<bool> TryDeliverAsync(InvoiceMail mail, CancellationToken ct)
        {
            try
            {
                await _mailer.SendOnceAsync(mail.InvoiceId, mail.Recipient, ct);
                return true;
            }
            catch (SmtpException ex)
            {
                _logger.LogWarning(ex, "Invoice mail {InvoiceId} not delivered", mail.InvoiceId);
                return false;
            }
        }
    }
    """,
        6,
    ),
    good(
        "failed-message-dropped",
        "csharp",
        """
    public sealed class InvoiceMailProcessor
    {
        private async Task OnMessageAsync(ProcessMessageEventArgs args)
        {
            var mail = args.Message.Body.ToObjectFromJson<InvoiceMail>();
            if (!await TryDeliverAsync(mail, args.CancellationToken))
            {
                await args.AbandonMessageAsync(args.Message);
                return;
            }
            await args.CompleteMessageAsync(args.Message, args.CancellationToken);
        }

        private async Task<bool> TryDeliverAsync(InvoiceMail mail, CancellationToken ct)
        {
            try
            {
                await _mailer.SendOnceAsync(mail.InvoiceId, mail.Recipient, ct);
                return true;
            }
            catch (SmtpException ex)
            {
                _logger.LogWarning(ex, "Invoice mail {InvoiceId} not delivered", mail.InvoiceId);
                return false;
            }
        }
    }
    """,
    ),
    bad(
        "failed-message-dropped",
        "go",
        """
    package worker

    import amqp "github.com/rabbitmq/amqp091-go"

    func (w *Worker) on(ctx context.Context, d amqp.Delivery) {
    	w.deliver(ctx, d.Body)
    	d.Ack(false)
    }

    func (w *Worker) deliver(ctx context.Context, body []byte) bool {
    	if err := w.mailer.Send(ctx, body); err != nil {
    		w.log.Error("mail failed", "err", err)
    		return false
    	}
    	return true
    }
    """,
        6,
    ),
]
