"""Google's Python SDK, Gemini: `python python_google_genai.py stream|whole [TIMEOUT_S]`."""

import sys

from google import genai

options = {"timeout": int(float(sys.argv[2]) * 1000)} if len(sys.argv) > 2 else None
client = genai.Client(http_options=options)
asked = {"model": "gemini-2.5-flash", "contents": "When does the harbour open?"}
reason = None
if sys.argv[1] == "stream":
    for chunk in client.models.generate_content_stream(**asked):
        print(chunk.text or "", end="", flush=True)
        if chunk.candidates:
            reason = chunk.candidates[0].finish_reason or reason
    print()
else:
    answer = client.models.generate_content(**asked)
    print(answer.text)
    reason = answer.candidates[0].finish_reason
if reason is not None and reason.name in ("MAX_TOKENS", "SAFETY", "PROHIBITED_CONTENT"):
    sys.exit(f"the answer was stopped: {reason.name}")
