/** Shows a message for a while, and announces it to screen readers. */

import { button, el, sign } from "./dom.js";

const SHOWN_MS = 6000;

/** Announces a text to screen readers only. A repeated text is announced again. */
export function announce(text) {
  const place = document.getElementById("announcer");
  place.textContent = "";
  requestAnimationFrame(() => (place.textContent = text));
}

export function notice(text, kind = "calm") {
  const node = el("div", { class: `notice ${kind}` }, el("span", {}, text));
  node.append(button(sign("close"), () => node.remove(), { class: "quiet", "aria-label": "Dismiss" }));
  document.getElementById("notices").append(node);
  setTimeout(() => node.remove(), SHOWN_MS);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    notice(`${what} copied.`);
  } catch {
    // Without https, some browsers do not allow access to the clipboard.
    notice(`The browser does not let us copy ${what.toLowerCase()}: select it and copy it yourself.`, "warn");
  }
}
