// Anthropic's JavaScript SDK: node node_anthropic.mjs stream|whole [TIMEOUT_S]
import Anthropic from "@anthropic-ai/sdk";

const [how, timeout] = process.argv.slice(2);
const client = new Anthropic(timeout ? { timeout: timeout * 1000 } : {});
const asked = {
  model: "claude-sonnet-4-5",
  max_tokens: 1024,
  messages: [{ role: "user", content: "When does the harbour open?" }],
};
let answer;
if (how === "stream") {
  const stream = client.messages.stream(asked);
  for await (const event of stream) {
    if (event.type === "content_block_delta") process.stdout.write(event.delta.text ?? "");
  }
  answer = await stream.finalMessage();
  console.log();
} else {
  answer = await client.messages.create(asked);
  console.log(answer.content.map((block) => block.text ?? "").join(""));
}
if (["max_tokens", "refusal"].includes(answer.stop_reason)) {
  console.error(`the answer was stopped: ${answer.stop_reason}`);
  process.exitCode = 1;
}
