/**
 * Talks to the server that the page came from, and to no other. A key goes along as a header, never in an address;
 * it is kept for as long as the tab is open.
 */

import { parseExactly } from "./json.js";
import { readEvents } from "./sse.js";

const BASE = "/api/v1/";
const KEPT = "faultkit-key";

/** What the server did not do, with its own words. Status 0: it did not answer at all. */
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

/** Told when the server wants a key, or another one. */
export const wanted = new EventTarget();

export async function ask(path, { query, method = "GET", body, signal, withKey = key.get() } = {}) {
  const response = await send(path, { query, method, body, signal, withKey, accept: "application/json" });
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

/** The answer twice: `plain` to count with, `exact` to show. */
export async function askExactly(path, options = {}) {
  const response = await send(path, { withKey: key.get(), ...options, accept: "application/json" });
  const text = await response.text();
  return { plain: JSON.parse(text), exact: parseExactly(text) };
}

/** For calls of tools: one that failed is an answer all the same, which the server marks with 502. */
export async function askCall(path, options) {
  try {
    return await askExactly(path, { method: "POST", ...options });
  } catch (error) {
    if (error.status !== 502 || !error.body) throw error;
    return { plain: error.body, exact: parseExactly(error.text) };
  }
}

/** What the server says as it happens: yields { name, data } until `signal` ends it or the server does. */
export async function* follow(path, { query, signal, opened = () => {} }) {
  const response = await send(path, { query, signal, withKey: key.get(), accept: "text/event-stream" });
  opened();
  yield* readEvents(response.body);
}

/** A file to keep: fetched with the key, which a link could not carry. */
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
    // Not every refusal is JSON: a proxy in between may have written it.
  }
  const said = typeof body?.error === "string" ? body.error : text.slice(0, 200) || response.statusText;
  const refused = new Refused(response.status, said, text, body);
  if (response.status === 401) wanted.dispatchEvent(new CustomEvent("key", { detail: refused }));
  return refused;
}
