// Drives a Toxiproxy server with toxiproxy-node-client, as it is, and checks each step by real traffic.
// Usage: node drive.mjs http://127.0.0.1:8474
import assert from "node:assert/strict";
import net from "node:net";
import { createRequire } from "node:module";

const { Toxiproxy } = createRequire(import.meta.url)("toxiproxy-node-client");

const SILENCE_MS = 200;
const PATIENCE_MS = 5000;

const toxiproxy = new Toxiproxy(process.argv[2]);

// The upstream sends `reply` to each client that sends anything, and keeps the connection open.
const greeter = net.createServer((socket) => {
  socket.on("error", () => {});
  socket.on("data", () => socket.write("reply"));
});
await new Promise((resolve) => greeter.listen(0, "127.0.0.1", resolve));
const upstream = `127.0.0.1:${greeter.address().port}`;

function within(ms, promise, otherwise) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(otherwise), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** What a client sees after it has asked: bytes, EOF, the code of the error, or silence. */
async function view(listen, expected) {
  const [host, port] = listen.split(":");
  const socket = net.connect(Number(port), host);
  const seen = new Promise((resolve) => {
    socket.once("data", (data) => resolve(data.toString()));
    socket.once("end", () => resolve("EOF"));
    socket.once("error", (error) => resolve(error.code));
  });
  socket.once("connect", () => socket.write("ask"));
  try {
    return await within(expected === "silence" ? SILENCE_MS : PATIENCE_MS, seen, "silence");
  } finally {
    socket.on("error", () => {});
    socket.destroy();
  }
}

const sees = async (listen, expected, message) =>
  assert.equal(await view(listen, expected), expected, message);

assert.match(JSON.parse(await toxiproxy.getVersion()).version, /^2\./);

const proxy = await toxiproxy.createProxy({ name: "db", listen: "localhost:0", upstream });
assert.equal(proxy.enabled, true);
assert.equal(proxy.upstream, upstream);
await sees(proxy.listen, "reply", "a proxy without toxics");
await assert.rejects(toxiproxy.createProxy({ name: "db", listen: "localhost:0", upstream }), /409/);
assert.deepEqual(Object.keys(await toxiproxy.getAll()), ["db"]);
assert.deepEqual((await toxiproxy.get("db")).toJson(), proxy.toJson());
await assert.rejects(toxiproxy.get("absent"), /404/);

const types = [
  ["latency", { latency: 30, jitter: 5 }, "reply"],
  ["bandwidth", { rate: 100 }, "reply"],
  ["bandwidth", { rate: 0 }, "silence"],
  ["slow_close", { delay: 30 }, "reply"],
  ["timeout", { timeout: 0 }, "silence"],
  ["timeout", { timeout: 30 }, "EOF"],
  ["reset_peer", { timeout: 30 }, "ECONNRESET"],
  ["slicer", { average_size: 64, size_variation: 16, delay: 10 }, "reply"],
  ["limit_data", { bytes: 2 }, "re"],
];
for (const [type, attributes, expected] of types) {
  const toxic = await proxy.addToxic({ type, attributes });
  assert.deepEqual(toxic.toJson(), {
    name: `${type}_downstream`,
    type,
    stream: "downstream",
    toxicity: 1,
    attributes,
  });
  assert.deepEqual((await proxy.getToxic(toxic.name)).toJson(), toxic.toJson());
  await sees(proxy.listen, expected, `${type} ${JSON.stringify(attributes)}`);
  await toxic.remove();
  await sees(proxy.listen, "reply", `after ${type}`);
}
await assert.rejects(proxy.addToxic({ type: "earthquake", attributes: {} }), /400/);

const upstreamToxic = await proxy.addToxic({
  name: "hole", type: "timeout", stream: "upstream", toxicity: 1, attributes: { timeout: 0 },
});
await sees(proxy.listen, "silence", "the question is lost");
const spared = await upstreamToxic.update({ toxicity: 0, attributes: { timeout: 0 } });
assert.equal(spared.toxicity, 0);
await sees(proxy.listen, "reply", "toxicity 0");
const back = await upstreamToxic.update({ toxicity: 1, attributes: { timeout: 30 } });
assert.deepEqual(back.attributes, { timeout: 30 });
await sees(proxy.listen, "EOF", "an updated toxic");

const disabled = await proxy.update({ enabled: false, listen: proxy.listen, upstream });
assert.equal(disabled.enabled, false);
await sees(proxy.listen, "ECONNREFUSED", "a disabled proxy");

await toxiproxy.reset();
const after = await toxiproxy.get("db");
assert.equal(after.enabled, true);
assert.equal(after.listen, proxy.listen);
await sees(proxy.listen, "reply", "after a reset");

const wanted = [
  { name: "db", listen: proxy.listen, upstream },
  { name: "cache", listen: "127.0.0.1:0", upstream, enabled: false },
];
const populated = await toxiproxy.populate(wanted);
assert.deepEqual(Object.keys(populated), ["db", "cache"]);
assert.equal(populated.db.listen, proxy.listen);
assert.equal(populated.cache.enabled, false);
await sees(populated.db.listen, "reply", "a populated proxy");

await populated.cache.remove();
await proxy.remove();
assert.deepEqual(await toxiproxy.getAll(), {});
await sees(proxy.listen, "ECONNREFUSED", "a removed proxy");

greeter.close();
greeter.closeAllConnections?.();
console.log("all steps passed");
process.exit(0);
