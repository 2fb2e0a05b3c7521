/** Parses server-sent events from a stream of bytes. EventSource is not used: it cannot send a header with a key. */

export async function* readEvents(stream) {
  let [name, data] = ["message", []];
  for await (const line of linesOf(stream)) {
    if (line === "") {
      if (data.length) yield { name, data: data.join("\n") };
      [name, data] = ["message", []];
    } else if (line.startsWith("event:")) {
      name = valueOf(line);
    } else if (line.startsWith("data:")) {
      data.push(valueOf(line));
    }
  }
}

const valueOf = (line) => line.slice(line.indexOf(":") + 1).replace(/^ /, "");

async function* linesOf(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n/);
      rest = lines.pop();
      yield* lines;
    }
  } finally {
    reader.cancel().catch(() => {}); // it may have broken already
  }
}
