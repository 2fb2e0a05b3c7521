"""Error events of Node.js that nothing listens for."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "unhandled-error-event"

CASES = [
    bad(
        _RULE,
        "javascript",
        """
        const { createClient } = require('redis');
        const { spawn } = require('child_process');
        const https = require('https');
        const net = require('net');
        const WebSocket = require('ws');

        const client = createClient({ url: process.env.REDIS_URL });
        const relay = net.connect({ port: 9000, host: 'relay' });
        relay.on('data', (chunk) => parser.push(chunk));
        const feed = new WebSocket('wss://feed.example.com');
        feed.on('message', (text) => note(text));

        function convert(file, done) {
          const child = spawn('convert', [file], { stdio: 'ignore' });
          child.on('close', done);
        }

        function post(body) {
          const request = https.request(options, (answer) => answer.resume());
          request.end(body);
        }
        """,
        7,
        8,
        10,
        14,
        19,
    ),
    good(
        _RULE,
        "javascript",
        """
        const { createClient } = require('redis');
        const { spawn } = require('child_process');
        const https = require('https');
        const net = require('net');
        const WebSocket = require('ws');

        const client = createClient({ url: process.env.REDIS_URL });
        client.on('error', (error) => console.error(error));
        const relay = net.connect({ port: 9000, host: 'relay' });
        relay.on('data', (chunk) => parser.push(chunk)).on('error', (error) => fail(error));
        const feed = new WebSocket('wss://feed.example.com');
        feed.onerror = (error) => fail(error);
        const other = net.connect({ port: 9000 });
        watch(other);
        export const shared = createClient();

        function start(file) {
          const child = spawn('convert', [file], { stdio: 'ignore' });
          return child;
        }

        function post(body) {
          const request = https.request(options, (answer) => answer.resume());
          request.on('error', (error) => console.error(error));
          request.end(body);
          https.get(options, (answer) => answer.resume()).on('error', (error) => console.error(error));
        }
        """,
    ),
]
