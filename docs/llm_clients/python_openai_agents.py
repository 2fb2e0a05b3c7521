"""OpenAI Agents SDK, an agent without tools: `python python_openai_agents.py stream|whole [TIMEOUT_S]`."""

import asyncio
import sys

from openai import AsyncOpenAI

from agents import Agent, Runner, set_default_openai_client, set_tracing_disabled

set_tracing_disabled(True)
if len(sys.argv) > 2:
    set_default_openai_client(AsyncOpenAI(timeout=float(sys.argv[2])), use_for_tracing=False)
agent = Agent(name="Guide", instructions="Answer in one sentence.", model="gpt-4o")
ASKED = "When does the harbour open?"


async def main() -> None:
    if sys.argv[1] == "whole":
        print((await Runner.run(agent, ASKED)).final_output)
        return
    result = Runner.run_streamed(agent, ASKED)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            print(event.data.delta, end="", flush=True)
    print()


asyncio.run(main())
