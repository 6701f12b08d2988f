// The protocol server with its answers asked for, request by request, at the address in its one argument: it speaks the
// protocol, whoever started it says what there is to say. What it asks is a request in the server's own words, what it
// is answered one of its responses.
import { LLMock } from "@copilotkit/aimock";

const [address] = process.argv.slice(2);

async function ask(request) {
  const answer = await fetch(address, { method: "POST", body: JSON.stringify(request) });
  if (!answer.ok) throw new Error(`whoever answers failed: ${answer.status}`);
  return answer.json();
}

const server = new LLMock({ port: 0 });
server.on({}, ask);
console.log(`listening on ${await server.start()}`);
