// The official client of AG-UI at a server of ours: node agui.mjs URL TOKEN THREAD. Each line that comes in is a run,
// {"message": {"id", "content"}} or {"resume": [...]}; each line that goes out is what the client made of it, with the
// lines of data as they came. {"abort": N} beside a message drops the connection after N lines.
import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";

const [url, token, threadId] = process.argv.slice(2);
let received = [];
let abortAfter = Infinity;

async function fetchAndKeep(address, init) {
  const answer = await fetch(address, init);
  const pass = new TransformStream({
    start() {
      this.rest = "";
    },
    transform(chunk, controller) {
      const lines = (this.rest + new TextDecoder().decode(chunk)).split("\n");
      this.rest = lines.pop();
      for (const line of lines) if (line.startsWith("data: ")) received.push(JSON.parse(line.slice(6)));
      controller.enqueue(chunk);
      if (received.length >= abortAfter) controller.terminate();
    },
  });
  return new Response(answer.body?.pipeThrough(pass), answer);
}

const agent = new HttpAgent({ url, threadId, headers: { Authorization: `Bearer ${token}` }, fetch: fetchAndKeep });

for await (const line of createInterface({ input: process.stdin })) {
  const { message, resume, abort } = JSON.parse(line);
  received = [];
  abortAfter = abort ?? Infinity;
  const failures = [];
  const seen = { onRunFailed: ({ error }) => void failures.push(error.message), onRunErrorEvent: ({ event }) => void failures.push(event.message) };
  if (message) agent.addMessage({ role: "user", ...message });
  try {
    await agent.runAgent({ resume }, seen);
  } catch (error) {
    failures.push(error.message);
  }
  const { messages, state, pendingInterrupts } = agent;
  console.log(JSON.stringify({ events: received, messages, state, interrupts: pendingInterrupts ?? [], failures }));
}
