/**
 * Where we are: a view and its settings. All of it stands in the fragment of the address, so that a view can be
 * shared, reloaded, and left with the browser's own Back. A fragment is never sent to a server.
 */

const FIRST = "overview";

export function here(fragment = location.hash) {
  const [, view = FIRST, query = ""] = /^#\/([a-z]*)(?:\?(.*))?$/s.exec(fragment) ?? [];
  return { view: view || FIRST, settings: new URLSearchParams(query) };
}

export function address(view, settings = {}) {
  const query = new URLSearchParams(settings).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** `quietly`: without a step for Back, as when the arrow keys walk through rows. */
export function go(view, settings, { quietly = false } = {}) {
  const to = address(view, settings);
  if (to === location.hash) return;
  if (quietly) {
    history.replaceState(null, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = to;
  }
}

/** The same settings with some changed; null and "" take one away. */
export function changed(settings, changes) {
  const result = new URLSearchParams(settings);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") result.delete(name);
    else result.set(name, value);
  }
  return result;
}
