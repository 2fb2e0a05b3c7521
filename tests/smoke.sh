#!/usr/bin/env bash
# Use every command once: with the lowest version of each package, and on each interpreter that is found.
#
#   bash tests/smoke.sh            all extras with the lowest versions; the core on the other interpreters
#   ALL=1 bash tests/smoke.sh      all extras everywhere
set -euo pipefail
cd "$(dirname "$0")/.."

everywhere=.
if [ -n "${ALL:-}" ]; then everywhere=".[all]"; fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export UV_PYTHON_DOWNLOADS=never
for bin in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin; do PATH="$PATH:$bin"; done

uv="$(command -v "${UV:-uv}" || true)"
if [ -z "$uv" ]; then
  python3 -m venv "$folder/uv"
  "$folder/uv/bin/pip" install --quiet --disable-pip-version-check uv
  uv="$folder/uv/bin/uv"
fi

smoke() {
  local version="$1" resolution="$2" project="$3"
  local here="$folder/$version-$resolution"
  if ! "$uv" python find --system --no-project "$version" >/dev/null 2>&1; then
    echo "== Python $version: not found, skipped"
    return
  fi
  echo "== Python $version, $project with the $resolution versions"
  "$uv" venv --quiet --no-project --python "$version" "$here"
  "$uv" pip install --quiet --python "$here/bin/python" --resolution "$resolution" "$project"
  "$here/bin/python" tests/smoke.py
}

smoke 3.11 lowest-direct '.[all]'
for version in 3.11 3.12 3.13 3.14; do
  smoke "$version" highest "$everywhere"
done
