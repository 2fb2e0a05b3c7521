#!/bin/sh
# Installs the library with which the client scripts of the seed were written, away from the project's own
# environment: about 90 MB. The tests in test_seed_000.py run if it is there. FAULTKIT_SEED_CLIENTS names
# another place.
set -eu
cd "$(dirname "$0")/../../.."

venv="${FAULTKIT_SEED_CLIENTS:-build/seed-clients}"
if [ -e "$venv/.ready" ]; then
    echo "seed clients: they are there"
    exit 0
fi
"${PYTHON:-python3}" -m venv "$venv"
# The last release whose call_tool gives a list, as the scripts expect; it breaks with a newer pydantic.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "fastmcp==2.9.2" "pydantic<2.12" rich
touch "$venv/.ready"
echo "seed clients: installed"
