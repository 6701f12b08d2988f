// Ask an agent as a web visitor, print the answer with its sources, and read a record's Pulse.
//
//     .parlour/node/bin/node examples/ask.ts "How wide is the crack at C4?"
//
// `make clients` writes schema.d.ts, the types of the API, beside this file. PARLOUR_URL, PARLOUR_TENANT and
// PARLOUR_BINDING choose the agent. The Pulse is read with the API key in PARLOUR_KEY, and left out without one.

import { setTimeout as sleep } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";

const url = process.env.PARLOUR_URL ?? "http://127.0.0.1:8700";
const tenant = process.env.PARLOUR_TENANT ?? "northbank";
const binding = process.env.PARLOUR_BINDING ?? "site-desk";
const question = process.argv[2] ?? "How wide is the crack at C4?";

// Milliseconds between two reads of the events. Where the deployment streams, /v1/sessions/{id}/stream needs no polling.
const pollMs = 300;
const timeoutMs = 60_000;

// A client of the API that sends these headers with every request.
const connect = (headers: Record<string, string> = {}) => createClient<paths>({ baseUrl: url, headers });

// The body of a successful response; otherwise an error with the API's own sentence.
function resultOf<Body>(answer: { data?: Body; error?: { error: { message: string } } }): Body {
  if (answer.data === undefined) throw new Error(answer.error?.error.message ?? "The API sent no body.");
  return answer.data;
}

async function followEvents(visitor: ReturnType<typeof connect>, session_id: string): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let block = 0;
  for (let after = 0; Date.now() < deadline; await sleep(pollMs)) {
    const path = { params: { path: { session_id }, query: { after } } };
    for (const event of resultOf(await visitor.GET("/v1/sessions/{session_id}/events", path)).events) {
      after = event.number;
      if (event.kind === "text_delta") {
        // Each step of the model has a paragraph of its own.
        const next = event.payload.block ?? block;
        if (block && next !== block) process.stdout.write("\n\n");
        block = next;
        process.stdout.write(event.payload.text);
      }
      if (event.kind === "done") return console.log();
    }
  }
  throw new Error("No answer within a minute. Run: parlour attention");
}

async function ask(): Promise<void> {
  const opened = resultOf(await connect().POST("/v1/sessions", { body: { tenant, binding } }));
  const visitor = connect({ Authorization: `Bearer ${opened.token}` });
  const params = { path: { session_id: opened.session_id } };
  resultOf(await visitor.POST("/v1/sessions/{session_id}/messages", { params, body: { text: question } }));
  process.stdout.write(`${opened.binding.name}: `);
  await followEvents(visitor, opened.session_id);
  const { messages } = resultOf(await visitor.GET("/v1/sessions/{session_id}/messages", { params }));
  for (const source of messages.at(-1)?.citations ?? []) {
    console.log(`  [${source.number}] ${source.title} ${source.locator}`);
  }
}

// The Pulse of a record at the clearance of the key, and what changed since it was written.
async function printPulse(key: string, record: string): Promise<void> {
  const member = connect({ Authorization: `Bearer ${key}`, "Parlour-Tenant": tenant });
  const [type_key = "", record_key = ""] = record.split("/");
  const params = { path: { type_key, key: record_key } };
  const view = resultOf(await member.GET("/v1/entities/{type_key}/{key}/pulse", { params }));
  console.log(`\nPulse of ${view.name}:\n${view.pulse?.markdown ?? "It is not written yet."}`);
  if (view.changes_text) console.log(view.changes_text);
}

await ask();
if (process.env.PARLOUR_KEY) await printPulse(process.env.PARLOUR_KEY, process.env.PARLOUR_RECORD ?? "project/NRS");
