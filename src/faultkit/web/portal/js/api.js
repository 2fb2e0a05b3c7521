/**
 * Requests to the server that the page came from. A key is sent in a header, never in an address, and is stored until
 * the tab is closed.
 */

import { parseExactly } from "./json.js";
import { readEvents } from "./sse.js";

const BASE = "/api/v1/";
const KEPT = "faultkit-key";

/** An error response of the server, with its message. Status 0: there was no response. */
export class Refused extends Error {
  constructor(status, message, text = "", body = null) {
    super(message);
    Object.assign(this, { status, text, body });
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEPT),
  keep: (text) => sessionStorage.setItem(KEPT, text),
  forget: () => sessionStorage.removeItem(KEPT),
};

/** Dispatches "key" when the server requires a key, or another one. */
export const wanted = new EventTarget();

export async function ask(path, { query, method = "GET", body, signal, withKey = key.get() } = {}) {
  const response = await send(path, { query, method, body, signal, withKey, accept: "application/json" });
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

/** Returns the response twice: `plain` for computing, `exact` for display. */
export async function askExactly(path, options = {}) {
  const response = await send(path, { withKey: key.get(), ...options, accept: "application/json" });
  const text = await response.text();
  return { plain: JSON.parse(text), exact: parseExactly(text) };
}

/** Calls a tool. The server answers a failed call with 502, which is a result here and not an error. */
export async function askCall(path, options) {
  try {
    return await askExactly(path, { method: "POST", ...options });
  } catch (error) {
    if (error.status !== 502 || !error.body) throw error;
    return { plain: error.body, exact: parseExactly(error.text) };
  }
}

/** Yields server-sent events as { name, data } until `signal` or the server ends the stream. */
export async function* follow(path, { query, signal, opened = () => {} }) {
  const response = await send(path, { query, signal, withKey: key.get(), accept: "text/event-stream" });
  opened();
  yield* readEvents(response.body);
}

/** Saves a file. It is fetched with the key, which a link could not send. */
export async function download(path, query, name) {
  const response = await send(path, { query, withKey: key.get(), accept: "*/*" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function send(path, { query, method = "GET", body, signal, withKey, accept }) {
  const headers = { accept, "x-requested-with": "faultkit-portal" };
  if (withKey) headers["x-api-key"] = withKey;
  if (body !== undefined) headers["content-type"] = "application/json";
  const asked = new URLSearchParams(query ?? "").toString();
  let response;
  try {
    response = await fetch(BASE + path + (asked ? `?${asked}` : ""), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: "omit",
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer.");
  }
  if (!response.ok) throw await refusalOf(response);
  return response;
}

async function refusalOf(response) {
  const text = await response.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Not every error is JSON: a proxy in between may have written it.
  }
  const said = typeof body?.error === "string" ? body.error : text.slice(0, 200) || response.statusText;
  const refused = new Refused(response.status, said, text, body);
  if (response.status === 401) wanted.dispatchEvent(new CustomEvent("key", { detail: refused }));
  return refused;
}
