"""OpenAI's Python SDK, Responses: `python python_openai_responses.py stream|whole [TIMEOUT_S]`."""

import sys

from openai import OpenAI

client = OpenAI(**({"timeout": float(sys.argv[2])} if len(sys.argv) > 2 else {}))
asked = {"model": "gpt-4o", "input": "When does the harbour open?"}
status = None
if sys.argv[1] == "stream":
    for event in client.responses.create(**asked, stream=True):
        if event.type == "response.output_text.delta":
            print(event.delta, end="", flush=True)
        elif event.type in ("response.failed", "response.incomplete"):
            status = event.response.status
        elif event.type == "error":
            sys.exit(f"the answer was stopped: {event.message}")
    print()
else:
    answer = client.responses.create(**asked)
    print(answer.output_text)
    status = answer.status
if status in ("failed", "incomplete"):
    sys.exit(f"the answer was stopped: {status}")
