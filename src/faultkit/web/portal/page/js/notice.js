/** Says something to everybody: on the screen for a while, and to those who listen. */

import { button, el, sign } from "./dom.js";

const SHOWN_MS = 6000;

/** Read out, not shown. The same text twice is read twice. */
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
    // Without https the clipboard of some browsers is closed.
    notice(`The browser does not let us copy ${what.toLowerCase()}: select it and copy it yourself.`, "warn");
  }
}
