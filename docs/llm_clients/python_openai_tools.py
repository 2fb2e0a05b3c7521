"""OpenAI's Python SDK, Chat Completions with a tool, whole answers: `python python_openai_tools.py`."""

import json
import sys

from openai import OpenAI

HOURS = {"harbour": "It opens at seven."}
TOOL = {
    "type": "function",
    "function": {
        "name": "opening_hours",
        "description": "When a place opens.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}},
            "required": ["place"],
        },
    },
}
client = OpenAI()
messages = [{"role": "user", "content": "When does the harbour open?"}]
while True:
    answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[TOOL])
    message = answer.choices[0].message
    print(message.content or "")
    if not message.tool_calls:
        break
    messages.append(message)
    for call in message.tool_calls:
        if call.function.name != "opening_hours":
            sys.exit(f"there is no tool {call.function.name}")
        place = json.loads(call.function.arguments)["place"]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": HOURS[place]})
