/**
 * The current view and its settings. They are in the fragment of the address, so that a view can be shared, reloaded,
 * and left with the browser's Back button. A fragment is never sent to a server.
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

/** `quietly`: without an entry in the history, as when the arrow keys move through rows. */
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

/** Returns the settings with changes; null and "" remove one. */
export function changed(settings, changes) {
  const result = new URLSearchParams(settings);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") result.delete(name);
    else result.set(name, value);
  }
  return result;
}
