#!/bin/sh
# Installs MCP clients of other projects, away from the project's own environment: the MCP Inspector
# (about 90 MB; Node.js 20 or newer) and the newest fastmcp (about 130 MB). The tests in test_agent_clients.py
# run with what is there. FAULTKIT_AGENT_CLIENTS names another place.
set -eu
cd "$(dirname "$0")/../../.."

place="${FAULTKIT_AGENT_CLIENTS:-build/agent-clients}"
mkdir -p "$place"

if [ -e "$place/inspector/.ready" ]; then
    echo "inspector: it is there"
elif command -v npm >/dev/null; then
    npm install --silent --no-audit --no-fund --no-package-lock --prefix "$place/inspector" \
        "@modelcontextprotocol/inspector@2.12.0" && touch "$place/inspector/.ready" && echo "inspector: installed"
else
    echo "inspector: no npm"
fi

if [ -e "$place/fastmcp/.ready" ]; then
    echo "fastmcp: it is there"
else
    "${PYTHON:-python3}" -m venv "$place/fastmcp"
    "$place/fastmcp/bin/python" -m pip install --quiet --disable-pip-version-check "fastmcp>=4,<5"
    touch "$place/fastmcp/.ready"
    echo "fastmcp: installed"
fi
