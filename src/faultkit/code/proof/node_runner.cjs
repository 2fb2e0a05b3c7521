// Loaded by Node before a service of the user (node --require). It imports nothing of Faultkit.
//
// FAULT_PROOF names the file, the text to run in its place, the beginnings of URLs to replace in the texts of the
// project, and the descriptor of a socket to the parent process. The first server that listens does so on a free port
// of loopback, and `port NUMBER` is written to the socket. For each line `lines` on it, the answer is which lines of
// the file have run. When the other end closes, the parent process has ended: this process group ends.
'use strict';

if (!process.env.FAULT_PROOF) return; // A thread or a child process of the service.

const fs = require('fs');
const inspector = require('inspector');
const Module = require('module');
const net = require('net');
const { pathToFileURL } = require('url');

const setup = JSON.parse(process.env.FAULT_PROOF);
delete process.env.FAULT_PROOF;

// --- texts ---

// Needs nothing around it: its text runs in another thread, too.
function textReader(setup, fs) {
  const replacements = Object.entries(setup.replaced).map(([old, now]) => [
    new RegExp(old.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '(?![\\w.:-])', 'g'),
    now,
  ]);
  return (file, text) => {
    if (file === setup.file) text = fs.readFileSync(setup.text, 'utf8');
    if (file.startsWith(setup.root) && !file.includes('/node_modules/')) {
      for (const [old, now] of replacements) text = text.replace(old, now);
    }
    return text;
  };
}

const textOf = textReader(setup, fs);

const compile = Module.prototype._compile;
Module.prototype._compile = function (content, file, ...rest) {
  return compile.call(this, textOf(file, content), file, ...rest);
};

if (Module.register) {
  // Modules of ECMAScript are loaded in a thread of their own.
  const hook = `
    import fs from 'node:fs';
    import { fileURLToPath } from 'node:url';
    ${textReader}
    let textOf;
    export function initialize(setup) {
      textOf = textReader(setup, fs);
    }
    export async function load(url, context, next) {
      const loaded = await next(url, context);
      if (loaded.format !== 'module' || !url.startsWith('file:')) return loaded;
      return { ...loaded, source: textOf(fileURLToPath(url), String(loaded.source)) };
    }`;
  Module.register('data:text/javascript,' + encodeURIComponent(hook), {
    parentURL: 'file:///',
    data: { file: setup.file, text: setup.text, root: setup.root, replaced: setup.replaced },
  });
}

// --- lines ---

const session = new inspector.Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

const ran = new Set();
let executable = [];

function takeLines() {
  let scripts = [];
  // In the same process the answer comes before `post` returns.
  session.post('Profiler.takePreciseCoverage', (error, found) => {
    if (!error) scripts = found.result;
  });
  const source = textOf(setup.file, '');
  const url = pathToFileURL(setup.file).href;
  const ranges = scripts
    .filter((each) => each.url === url || each.url === setup.file)
    .flatMap((each) => each.functions.flatMap((one) => one.ranges))
    .sort((a, b) => b.endOffset - b.startOffset - (a.endOffset - a.startOffset));
  let offset = 0;
  executable = [];
  let inComment = false;
  source.split('\n').forEach((line, index) => {
    const code = line.trim();
    // Brackets at its beginning belong to what they close.
    const first = offset + Math.max(line.search(/[^\])};,\s]/), 0);
    offset += line.length + 1;
    const isComment = inComment || /^(\/\/|\/\*)/.test(code);
    if (inComment || code.startsWith('/*')) inComment = !code.includes('*/');
    if (isComment || /^[\])};,\s]*$/.test(code)) return;
    executable.push(index + 1);
    // The smallest range that holds the beginning of the line counts; the ranges are sorted by size.
    let count = 0;
    for (const range of ranges) {
      if (range.startOffset <= first && first < range.endOffset) count = range.count;
    }
    if (count > 0) ran.add(index + 1);
  });
  return 'lines ' + JSON.stringify({ executable, ran: [...ran].sort((a, b) => a - b) }) + '\n';
}

// --- the parent process ---

const wire = new net.Socket({ fd: setup.wire, readable: true, writable: true });
wire.unref();
wire.on('data', () => wire.write(takeLines()));
wire.on('error', () => {});
wire.on('close', () => process.kill(0, 'SIGKILL'));
process.on('exit', () => {
  try {
    fs.writeSync(setup.wire, takeLines());
  } catch {
    // The parent process has ended.
  }
});

// --- the port ---

const listen = net.Server.prototype.listen;
let isFirst = true;
net.Server.prototype.listen = function (...args) {
  const callback = args.find((each) => typeof each === 'function');
  if (isFirst) {
    isFirst = false;
    this.once('listening', () => wire.write(`port ${this.address().port}\n`));
  }
  return listen.call(this, { port: 0, host: '127.0.0.1' }, ...(callback ? [callback] : []));
};
