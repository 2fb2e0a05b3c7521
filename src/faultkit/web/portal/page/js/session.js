/** Who we are to the server, and what that allows. */

import { ask, key } from "./api.js";

let me = null;

/** Asks the server. With `text`, as the holder of that key, which is kept if the server takes it. */
export async function arrive(text = key.get()) {
  me = await ask("portal/me", { withKey: text });
  if (text) key.keep(text);
  return me;
}

export function depart() {
  key.forget();
  me = null;
}

export const may = (scope) => me?.scopes?.includes(scope) || me?.scopes?.includes("admin") || false;

/** As a person would say it. */
export const nameOf = ({ key_name: keyName, name, email, subject }) => keyName || name || email || subject;

/** Why a button is off, or null if it need not be. */
export const missing = (scope) => (may(scope) ? null : `This needs a key with the scope “${scope}”.`);
