"""OpenAI's Python SDK, Chat Completions: `python python_openai.py stream|whole [TIMEOUT_S]`."""

import sys

from openai import OpenAI

client = OpenAI(**({"timeout": float(sys.argv[2])} if len(sys.argv) > 2 else {}))
asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "When does the harbour open?"}]}
reason = None
if sys.argv[1] == "stream":
    for chunk in client.chat.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            print(choice.delta.content or "", end="", flush=True)
            reason = choice.finish_reason or reason
    print()
else:
    answer = client.chat.completions.create(**asked)
    print(answer.choices[0].message.content)
    reason = answer.choices[0].finish_reason
if reason in ("length", "content_filter"):
    sys.exit(f"the answer was stopped: {reason}")
