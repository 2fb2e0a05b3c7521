#!/usr/bin/env bash
# Use every command once: with the lowest version of each package, and on each interpreter that is found.
#
#   bash tests/smoke.sh            3.11: all extras with the lowest versions; other interpreters: the core
#   ALL=1 bash tests/smoke.sh      all extras everywhere, with the highest versions on 3.11, too
set -euo pipefail
cd "$(dirname "$0")/.."

everywhere=.
if [ -n "${ALL:-}" ]; then everywhere=".[all]"; fi
folder="$(mktemp -d)"
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
export UV_PYTHON_DOWNLOADS=never
for bin in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin; do PATH="$PATH:$bin"; done

uv="$(command -v "${UV:-uv}" || true)"
if [ -z "$uv" ]; then
  python3 -m venv "$folder/uv"
  "$folder/uv/bin/pip" install --quiet --disable-pip-version-check uv
  uv="$folder/uv/bin/uv"
fi

found() {
  "$uv" python find --system --no-project "$1" >/dev/null 2>&1
}

smoke() {
  local version="$1" resolution="$2" project="$3"
  local here="$folder/$version-$resolution"
  if ! found "$version"; then
    echo "== Python $version: not found, skipped"
    return
  fi
  echo "== Python $version, $project with the $resolution versions"
  "$uv" venv --quiet --no-project --python "$version" "$here"
  "$uv" pip install --quiet --python "$here/bin/python" --resolution "$resolution" "$project"
  "$here/bin/python" tests/smoke.py
}

code=0
# In the background: `smoke … || code=1` would go on after the first command that fails.
awaited() {
  "$@" &
  wait "$!" || code=1
}

# The lowest versions of everything take as long as the rest together, so both run at the same time.
smoke 3.11 lowest-direct '.[all]' >"$folder/lowest" 2>&1 &
lowest=$!
core_was_used=
for version in 3.12 3.13 3.14; do
  if found "$version"; then core_was_used=1; fi
  awaited smoke "$version" highest "$everywhere"
done
if [ -n "${ALL:-}" ] || [ -z "$core_was_used" ]; then
  awaited smoke 3.11 highest "$everywhere"
fi
wait "$lowest" || code=1
cat "$folder/lowest"
exit "$code"
