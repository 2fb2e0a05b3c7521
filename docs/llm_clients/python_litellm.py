"""LiteLLM, with OpenAI behind it: `python python_litellm.py stream|whole [TIMEOUT_S]`."""

import os
import sys

# Otherwise it fetches a price list when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

asked = {
    "model": "openai/gpt-4o",
    "messages": [{"role": "user", "content": "When does the harbour open?"}],
    **({"timeout": float(sys.argv[2])} if len(sys.argv) > 2 else {}),
}
reason = None
if sys.argv[1] == "stream":
    for chunk in litellm.completion(**asked, stream=True):
        for choice in chunk.choices:
            print(choice.delta.content or "", end="", flush=True)
            reason = choice.finish_reason or reason
    print()
else:
    answer = litellm.completion(**asked)
    print(answer.choices[0].message.content)
    reason = answer.choices[0].finish_reason
if reason in ("length", "content_filter"):
    sys.exit(f"the answer was stopped: {reason}")
