// OpenAI's JavaScript SDK, Chat Completions: node node_openai.mjs stream|whole [TIMEOUT_S]
import OpenAI from "openai";

const [how, timeout] = process.argv.slice(2);
const client = new OpenAI(timeout ? { timeout: timeout * 1000 } : {});
const asked = { model: "gpt-4o", messages: [{ role: "user", content: "When does the harbour open?" }] };
let reason = null;
if (how === "stream") {
  for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) {
    for (const choice of chunk.choices) {
      process.stdout.write(choice.delta.content ?? "");
      reason = choice.finish_reason ?? reason;
    }
  }
  console.log();
} else {
  const answer = await client.chat.completions.create(asked);
  console.log(answer.choices[0].message.content);
  reason = answer.choices[0].finish_reason;
}
if (["length", "content_filter"].includes(reason)) {
  console.error(`the answer was stopped: ${reason}`);
  process.exitCode = 1;
}
