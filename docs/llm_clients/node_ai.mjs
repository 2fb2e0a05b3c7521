// Vercel AI SDK with its OpenAI provider: node node_ai.mjs stream|whole [TIMEOUT_S]
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";

const [how, timeout] = process.argv.slice(2);
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const asked = {
  model: openai.chat("gpt-4o"),
  prompt: "When does the harbour open?",
  ...(timeout ? { abortSignal: AbortSignal.timeout(timeout * 1000) } : {}),
};
let reason;
if (how === "stream") {
  const result = streamText(asked);
  for await (const text of result.textStream) process.stdout.write(text);
  reason = await result.finishReason;
  console.log();
} else {
  const answer = await generateText(asked);
  console.log(answer.text);
  reason = answer.finishReason;
}
if (["length", "content-filter"].includes(reason)) {
  console.error(`the answer was stopped: ${reason}`);
  process.exitCode = 1;
}
