// Gets each path of a base URL: fetch.mjs BASE PATH... Prints a line for each: path, seconds, and what came.
// With UNDICI set, `fetch` is that of the npm package undici, or its `request` if it is "request".
const kind = process.env.UNDICI;
const undici = kind ? await import('undici') : undefined;

async function get(url) {
  if (kind === 'request') {
    const answer = await undici.request(url);
    const body = Buffer.from(await answer.body.arrayBuffer());
    return [answer.statusCode, answer.headers['content-encoding'] ?? '-', body];
  }
  const answer = await (undici?.fetch ?? fetch)(url);
  const body = Buffer.from(await answer.arrayBuffer());
  return [answer.status, answer.headers.get('content-encoding') ?? '-', body];
}

const [base, ...paths] = process.argv.slice(2);
for (const path of paths) {
  const begin = performance.now();
  let seen;
  try {
    const [status, encoding, body] = await get(base + path);
    seen = `${status} ${encoding} ${body.toString('hex')}`;
  } catch (error) {
    const cause = error.cause ?? error;
    seen = `error ${cause.code ?? cause.message}`;
  }
  console.log(path, ((performance.now() - begin) / 1000).toFixed(3), seen);
}
