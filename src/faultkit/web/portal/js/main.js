/** Starts the page: signs in, and shows the view that the address names. */

import { ask, key, wanted } from "./api.js";
import { callsView } from "./calls.js";
import { button, el, fill } from "./dom.js";
import { keysView } from "./keys.js";
import { overview } from "./overview.js";
import { here } from "./route.js";
import { arrive, depart, nameOf } from "./session.js";
import { signIn } from "./signin.js";
import { failed } from "./states.js";
import { toolsView } from "./tools.js";

const VIEWS = { overview, calls: callsView, tools: toolsView, keys: keysView };

const place = document.getElementById("view");
const links = [...document.querySelectorAll("nav.tabs a")];
let current = null;
let server = "Faultkit";

function show() {
  const { view, settings } = here();
  const name = view in VIEWS ? view : "overview";
  const isOther = current?.name !== name;
  if (isOther) {
    const isFirst = current === null;
    leave();
    place.className = `view-${name}`;
    current = { name, shown: VIEWS[name](place) };
    // Screen readers announce the new view.
    if (!isFirst) place.querySelector("h1").focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  for (const link of links) {
    if (link.hash === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${current.shown.title} · ${server}`;
  current.shown.update(settings);
}

function leave() {
  current?.shown.leave();
  current = null;
}

async function begin() {
  try {
    welcome(await arrive());
  } catch (error) {
    if (error.status !== 401) fill(place, failed(error, begin));
  }
}

async function welcome(me) {
  document.body.classList.remove("signed-out");
  showWho(me);
  addEventListener("hashchange", show);
  show();
  const about = await ask("portal/server").catch(() => null);
  if (!about) return;
  server = about.name;
  document.getElementById("server").textContent = `${about.name} ${about.version}`;
  document.title = `${current.shown.title} · ${server}`;
}

function showWho(me) {
  const scopes = `May: ${me.scopes.join(", ")}`;
  const isAnonymous = me.auth_type === "anonymous";
  fill(
    document.getElementById("who"),
    el("span", { title: scopes }, nameOf(me)),
    isAnonymous
      ? button("Sign in", () => askForKey(""), { class: "quiet small" })
      : button("Sign out", signOut, { class: "quiet small" }),
  );
}

function signOut() {
  depart();
  leave();
  removeEventListener("hashchange", show);
  begin();
}

function askForKey(said) {
  leave();
  removeEventListener("hashchange", show);
  document.body.classList.add("signed-out");
  place.className = "signing-in";
  fill(document.getElementById("who"));
  signIn(place, said, welcome);
}

// Its fragment would be read as the name of a view.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  place.focus();
});

wanted.addEventListener("key", ({ detail }) => {
  // The sign-in form shows errors about a key itself.
  if (document.body.classList.contains("signed-out") && place.querySelector(".sign-in")) return;
  const had = key.get() !== null;
  depart();
  askForKey(had ? `Your key is no longer accepted: ${detail.message}` : "");
});

begin();
