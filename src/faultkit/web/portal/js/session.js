/** The identity of the user, and the scopes that it has. */

import { ask, key } from "./api.js";

let me = null;

/** Asks the server for the identity. `text`: a key to use, which is stored if the server accepts it. */
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

/** The name to show. */
export const nameOf = ({ key_name: keyName, name, email, subject }) => keyName || name || email || subject;

/** Why a button is disabled; null if it is enabled. */
export const missing = (scope) => (may(scope) ? null : `This needs a key with the scope “${scope}”.`);
