"""Anthropic's Python SDK: `python python_anthropic.py stream|whole [TIMEOUT_S]`."""

import sys

from anthropic import Anthropic

client = Anthropic(**({"timeout": float(sys.argv[2])} if len(sys.argv) > 2 else {}))
asked = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "When does the harbour open?"}],
}
if sys.argv[1] == "stream":
    with client.messages.stream(**asked) as stream:
        for text in stream.text_stream:
            print(text, end="", flush=True)
        reason = stream.get_final_message().stop_reason
    print()
else:
    answer = client.messages.create(**asked)
    print("".join(block.text for block in answer.content if block.type == "text"))
    reason = answer.stop_reason
if reason in ("max_tokens", "refusal"):
    sys.exit(f"the answer was stopped: {reason}")
