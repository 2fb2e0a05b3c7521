// Loaded by Node before a service of the user (node --require). It imports nothing of Faultkit.
//
// FAULT_PROOF names the file, the text to run in its place, the beginnings of URLs to replace in the texts of the
// project, and the descriptor of a socket to the parent process. The first server that listens does so on a free port
// of loopback, and `port NUMBER` is written to the socket. For each line `lines` on it, the answer is which lines of
// the file have run, and how often each answer with a status below 400 was given. When the other end closes, the parent process has ended: this process group ends.
'use strict';

if (!process.env.FAULT_PROOF) return; // A thread or a child process of the service.

const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
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

// The code of a function that has begun on a line: what follows `=>`, or `) {`.
const BODY = /=>\s*(?:[^{\s]|\{\s*[^\s}])|\)\s*\{\s*[^\s}]/;
const ran = new Set(); // Places that have run. The counts are those since the last time they were taken.
const functions = new Map(); // Their ends, by their beginnings.

function takeLines() {
  let scripts = [];
  // In the same process the answer comes before `post` returns.
  session.post('Profiler.takePreciseCoverage', (error, found) => {
    if (!error) scripts = found.result;
  });
  const url = pathToFileURL(setup.file).href;
  const found = scripts
    .filter((each) => each.url === url || each.url === setup.file)
    .flatMap((each) => each.functions);
  for (const { ranges } of found) functions.set(ranges[0].startOffset, ranges[0].endOffset);
  const ranges = found
    .flatMap((each) => each.ranges)
    .sort((a, b) => b.endOffset - b.startOffset - (a.endOffset - a.startOffset));
  const executable = [];
  const ranLines = [];
  for (const [line, places] of placesByLine(textOf(setup.file, ''))) {
    executable.push(line);
    for (const place of places) if (countAt(place, ranges) > 0) ran.add(place);
    if (places.every((place) => ran.has(place))) ranLines.push(line);
  }
  const given = [...answers.values()];
  return 'lines ' + JSON.stringify({ executable, ran: ranLines, answers: given }) + '\n';
}

// The smallest range that holds a place counts; the ranges are sorted by size.
function countAt(place, ranges) {
  let count = 0;
  for (const range of ranges) {
    if (range.startOffset <= place && place < range.endOffset) count = range.count;
  }
  return count;
}

// The lines with code, and the places that must have run for each: its beginning, and the functions whose code begins
// on it.
function* placesByLine(source) {
  let offset = 0;
  let inComment = false;
  let number = 0;
  for (const line of source.split('\n')) {
    number += 1;
    const start = offset;
    const end = start + line.length;
    offset = end + 1;
    const code = line.trim();
    const isComment = inComment || /^(\/\/|\/\*)/.test(code);
    if (inComment || code.startsWith('/*')) inComment = !code.includes('*/');
    if (isComment || /^[\])};,\s]*$/.test(code)) continue;
    // Brackets at its beginning belong to what they close.
    const places = [start + Math.max(line.search(/[^\])};,\s]/), 0)];
    for (const [begin, last] of functions) {
      if (begin < start || begin >= end || (begin === 0 && last >= source.length)) continue;
      const text = source.slice(begin, Math.min(last, end));
      if (BODY.test(text.replace(/\/\*.*?\*\/|(?<!:)\/\/.*$/g, ''))) places.push(begin);
    }
    yield [number, places];
  }
}

// --- answers ---

const MOST_ANSWERS = 1000;
const COMPARED_BYTES = 65536;
const SHOWN_BYTES = 100;
const VARYING = /(?=[\w+/=-]*\d)[\w+/=-]{16,}|[0-9a-fA-F-]{8,}|\d+/g; // Ids and numbers, as in runner.py.
const answers = new Map(); // By status, digest and type: what is reported of them.
const bodies = new WeakMap(); // Of responses under way.

const digestOf = (data) => crypto.createHash('sha256').update(data).digest('hex').slice(0, 16);

function addPart(response, part, encoding) {
  if (typeof part !== 'string' && !(part instanceof Uint8Array)) return;
  let body = bodies.get(response);
  if (!body) {
    body = { digest: crypto.createHash('sha256'), start: Buffer.alloc(0), length: 0 };
    bodies.set(response, body);
  }
  const data = typeof part === 'string' ? Buffer.from(part, typeof encoding === 'string' ? encoding : 'utf8') : part;
  body.digest.update(data);
  body.length += data.length;
  if (body.start.length < COMPARED_BYTES) {
    body.start = Buffer.concat([body.start, data.subarray(0, COMPARED_BYTES - body.start.length)]);
  }
}

function addAnswer(response) {
  if (response.statusCode >= 400) return;
  if (!bodies.has(response)) addPart(response, '');
  const { digest, start, length } = bodies.get(response);
  const exact = digest.digest('hex').slice(0, 16);
  // The head as it was sent: `getHeader` does not know what `writeHead` was given.
  const type = (/^content-type: *(.*)$/im.exec(response._header || '') || ['', ''])[1].trim();
  const key = `${response.statusCode} ${exact} ${type}`;
  if (!answers.has(key) && answers.size < MOST_ANSWERS) {
    const shape = digestOf(Buffer.from(start.toString('latin1').replace(VARYING, '0'), 'latin1'));
    const beginning = start.subarray(0, SHOWN_BYTES).toString('utf8');
    answers.set(key, [response.statusCode, exact, shape, length, beginning, type, 0]);
  }
  if (answers.has(key)) answers.get(key)[6] += 1;
}

const { write, end } = http.ServerResponse.prototype;
http.ServerResponse.prototype.write = function (part, encoding, ...rest) {
  addPart(this, part, encoding);
  return write.call(this, part, encoding, ...rest);
};
http.ServerResponse.prototype.end = function (part, encoding, ...rest) {
  if (this.writableEnded) return end.call(this, part, encoding, ...rest);
  addPart(this, part, encoding);
  const ended = end.call(this, part, encoding, ...rest);
  addAnswer(this);
  return ended;
};

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
