"""Ollama's Python client: `python python_ollama.py stream|whole [TIMEOUT_S]`."""

import sys

from ollama import Client

client = Client(**({"timeout": float(sys.argv[2])} if len(sys.argv) > 2 else {}))
asked = {"model": "llama3.2", "messages": [{"role": "user", "content": "When does the harbour open?"}]}
reason = None
if sys.argv[1] == "stream":
    for part in client.chat(**asked, stream=True):
        print(part.message.content or "", end="", flush=True)
        reason = part.done_reason or reason
    print()
else:
    answer = client.chat(**asked)
    print(answer.message.content)
    reason = answer.done_reason
if reason == "length":
    sys.exit(f"the answer was stopped: {reason}")
