// Lets `fetch`, undici, `http.request` and `https.request` use HTTP_PROXY and HTTPS_PROXY in versions of Node.js that do
// not by themselves (NODE_USE_ENV_PROXY: from 22.21 and 24.5 on). Loaded by NODE_OPTIONS=--require.
'use strict';

const [major, minor] = process.versions.node.split('.').map(Number);
const proxy = process.env.HTTPS_PROXY || process.env.HTTP_PROXY;
const knows = major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);

if (proxy && !knows && typeof globalThis.fetch === 'function') {
  const http = require('node:http');
  const tls = require('node:tls');
  const net = require('node:net');
  const { hostname, port } = new URL(proxy);

  // Opens a tunnel by CONNECT, and TLS inside it for https.
  function connect(options, callback) {
    const secure = options.protocol === 'https:';
    const target = `${options.hostname}:${options.port || (secure ? 443 : 80)}`;
    const request = http.request({
      host: hostname, port, method: 'CONNECT', path: target, headers: { host: target }, agent: false,
    });
    request.once('error', (error) => callback(error, null));
    request.once('connect', (answer, socket) => {
      if (answer.statusCode !== 200) {
        socket.destroy();
        callback(new Error(`the proxy answered CONNECT ${target} by ${answer.statusCode}`), null);
        return;
      }
      if (!secure) {
        callback(null, socket);
        return;
      }
      const name = options.servername || (net.isIP(options.hostname) ? undefined : options.hostname);
      const wrapped = tls.connect({ socket, servername: name, host: options.hostname, ALPNProtocols: ['http/1.1'] });
      wrapped.once('error', (error) => callback(error, null));
      wrapped.once('secureConnect', () => {
        wrapped.removeAllListeners('error');
        callback(null, wrapped);
      });
    });
    request.end();
  }

  void globalThis.Headers; // Loads the built-in undici, which sets its global dispatcher.
  const key = Symbol.for('undici.globalDispatcher.1');
  const present = globalThis[key];
  if (present) {
    const Agent = present.constructor;
    globalThis[key] = new Agent({ connect });
  }

  // Requests without an agent of their own use the global one.
  const https = require('node:https');
  for (const [module, protocol] of [[http, 'http:'], [https, 'https:']]) {
    const agent = new module.Agent({ keepAlive: true });
    agent.createConnection = (options, callback) => {
      connect({ protocol, hostname: options.host, port: options.port, servername: options.servername }, callback);
    };
    module.globalAgent = agent;
  }
}

// The npm package undici 8 keeps its dispatcher under a key of its own, which Node.js 22 does not set.
if (proxy) {
  const Module = require('node:module');
  const load = Module._load;
  const seen = new WeakSet();
  Module._load = function (request, ...rest) {
    const loaded = load.call(this, request, ...rest);
    if (/(^|[\\/]node_modules[\\/])undici([\\/]index\.js)?$/.test(request) && !seen.has(loaded)) {
      seen.add(loaded);
      if (loaded.EnvHttpProxyAgent && loaded.getGlobalDispatcher().constructor === loaded.Agent) {
        loaded.setGlobalDispatcher(new loaded.EnvHttpProxyAgent());
      }
    }
    return loaded;
  };
}
