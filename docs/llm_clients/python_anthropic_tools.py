"""Anthropic's Python SDK with a tool, streamed: `python python_anthropic_tools.py`."""

import sys

from anthropic import Anthropic

HOURS = {"harbour": "It opens at seven."}
TOOL = {
    "name": "opening_hours",
    "description": "When a place opens.",
    "input_schema": {
        "type": "object",
        "properties": {"place": {"type": "string"}},
        "required": ["place"],
    },
}
client = Anthropic()
messages = [{"role": "user", "content": "When does the harbour open?"}]
while True:
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 1024, "messages": messages, "tools": [TOOL]}
    with client.messages.stream(**asked) as stream:
        for text in stream.text_stream:
            print(text, end="", flush=True)
        answer = stream.get_final_message()
    print()
    if answer.stop_reason != "tool_use":
        break
    messages.append({"role": "assistant", "content": answer.content})
    results = []
    for block in answer.content:
        if block.type == "tool_use":
            if block.name != "opening_hours":
                sys.exit(f"there is no tool {block.name}")
            text = HOURS[block.input["place"]]
            results.append({"type": "tool_result", "tool_use_id": block.id, "content": text})
    messages.append({"role": "user", "content": results})
