import type { Page } from "@playwright/test";

import { TENANT } from "./api.ts";
import { expect, test } from "./fixtures.ts";

const CHAT = `chat.html#/${TENANT}/site-desk`;
const SAMPLE = "How wide is the crack at C4, and may we backfill?";

const reply = (page: Page) => page.getByRole("article", { name: "Reply of Site desk" });
const field = (page: Page) => page.getByRole("textbox", { name: "Message to Site desk" });

test("a visitor asks, sees the sources, and finds the conversation again", async ({
  page,
  open,
  checkAccessibility,
  saveScreenshot,
}) => {
  await page.addInitScript(observeLayoutShifts);
  await open(CHAT);
  await expect(page.getByRole("heading", { name: "Talk to Site desk" })).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("chat");

  await page.getByRole("button", { name: SAMPLE }).click();
  const sources = reply(page).getByRole("list", { name: "Sources" });
  await expect(sources).toContainText("Site report no. 19");
  expect(await page.evaluate(() => (globalThis as { layoutShift?: number }).layoutShift)).toBeLessThan(0.001);
  await reply(page)
    .getByRole("link", { name: /^Source 1/ })
    .first()
    .click();
  await expect(sources.locator(".chosen")).toBeFocused();
  await checkAccessibility();
  await saveScreenshot("chat-reply");

  await page.reload();
  await expect(page.getByText(SAMPLE)).toBeVisible();
  await expect(sources).toContainText("Site report no. 19");

  await page.getByRole("button", { name: "Your conversations" }).click();
  await expect(page.getByRole("heading", { name: "Conversations" })).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("chat-conversations");
  await page.getByRole("button", { name: /remembers about you/ }).click();
  await expect(page.locator(".skeleton")).toHaveCount(0);
  await checkAccessibility();
  await saveScreenshot("chat-memory");
});

test("what the model thought is folded above its answer", async ({
  page,
  open,
  checkAccessibility,
  saveScreenshot,
}) => {
  // No model of the stack thinks: the events of one that does are put into the stream, as the API sends them to members.
  await page.route("**/v1/sessions/*/stream", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: addReasoning(await response.text()) });
  });
  await open(CHAT);
  await page.getByRole("button", { name: SAMPLE }).click();
  const summary = reply(page).getByText("Thought for 4 s");
  await expect(reply(page).getByRole("list", { name: "Sources" })).toContainText("Site report no. 19");
  await expect(reply(page).getByText("The crack is a record")).toBeHidden();
  await summary.click();
  await expect(reply(page).getByText("The crack is a record. I look for its width.")).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("chat-reasoning");
});

test("each step of the model writes a paragraph, and a failed attempt takes back its own alone", async ({
  page,
  open,
}) => {
  await page.route("**/v1/sessions/*/stream", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: addStepText(await response.text()) });
  });
  await open(CHAT);
  await field(page).fill("How wide is the crack at C4?");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(reply(page).getByText("I look into the survey.", { exact: true })).toBeVisible();
  await expect(reply(page).locator(".cited-text p").nth(1)).not.toBeEmpty();
  await expect(reply(page)).not.toContainText("It is 0.9 mm");
  await page.unrouteAll({ behavior: "ignoreErrors" }); // the stream does not end, so another request for it is under way
});

test("a PDF is refused before its upload, and the text stays", async ({ page, open, saveScreenshot }) => {
  const sent: string[] = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await open(CHAT);
  await field(page).fill("What does this say?");
  const pdf = { name: "sick-policy.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7\n") };
  await page.getByLabel("Attach images or text files").setInputFiles(pdf);
  await expect(page.getByRole("alert")).toContainText("sick-policy.pdf cannot be sent with a message");
  await saveScreenshot("chat-refused-file");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(field(page)).toHaveValue("What does this say?");
  expect(sent).toEqual([]);
});

test("a batch of text appears word by word", async ({ page, open }) => {
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await page.addInitScript(streamInTwoBatches);
  await open(CHAT);
  await page.getByRole("button", { name: SAMPLE }).click();
  await expect(reply(page).getByRole("list", { name: "Sources" })).toBeVisible();
  const lengths = await page.evaluate(() => (globalThis as { replyLengths?: number[] }).replyLengths ?? []);
  expect(new Set(lengths).size).toBeGreaterThan(6);
  expect(lengths).toEqual(lengths.toSorted((one, other) => one - other));
});

test.describe("without a connection", () => {
  test.use({ expectedErrors: /net::ERR_/ });

  test("a message is kept, edited and sent again, and a cut stream is resumed", async ({
    page,
    context,
    open,
    checkAccessibility,
    saveScreenshot,
  }) => {
    await open(CHAT);
    await context.setOffline(true);
    await field(page).fill("Up to which wind may we lift");
    await field(page).press("Enter");
    await expect(page.getByText("Not sent.")).toBeVisible();
    await expect(page.getByRole("alert")).toContainText("Check your connection");
    await checkAccessibility();
    await saveScreenshot("chat-not-sent");
    await page.getByRole("button", { name: "Edit" }).click();
    await expect(field(page)).toHaveValue("Up to which wind may we lift");
    await field(page).press("End");
    await field(page).pressSequentially("?");
    await field(page).press("Enter");
    await expect(page.getByText("Not sent.")).toBeVisible();
    await context.setOffline(false);
    await page.route("**/stream", (route) => route.abort("connectionreset"), { times: 1 });
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(reply(page)).toContainText("9.8 m/s");
    await expect(page.getByText("Not sent.")).toHaveCount(0);
  });
});

test("a second tab of the same visitor continues the conversation", async ({ page, context, open }) => {
  await open(CHAT);
  await field(page).fill("When does the crane come?");
  await field(page).press("Enter");
  await expect(reply(page)).toContainText("crane");
  const second = await context.newPage();
  await second.goto(`./${CHAT}`);
  await second.getByRole("button", { name: "Your conversations" }).click();
  await second
    .getByRole("button", { name: /^When does the crane come/ })
    .first()
    .click();
  await expect(reply(second)).toContainText("crane");
  await field(second).fill("Up to which wind may we lift?");
  await field(second).press("Enter");
  await expect(reply(second).nth(1)).toContainText("9.8 m/s");
  // Headless pages are always visible: say that the first tab is shown again.
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await expect(reply(page).nth(1)).toContainText("9.8 m/s");
});

test.describe("an address without an agent", () => {
  test.use({ expectedErrors: /status of 404/ });

  test("says so, and keeps the message", async ({ page, open }) => {
    await open("chat.html#/nowhere/nobody");
    const message = page.getByRole("textbox", { name: /^Message to/ });
    await message.fill("Hello?");
    await message.press("Enter");
    await expect(page.getByRole("alert")).toContainText("Check the address");
    await expect(page.getByText("Not sent.")).toBeVisible();
  });
});

interface LayoutShift extends PerformanceEntry {
  value: number;
  hadRecentInput: boolean;
  sources: { node: Node | null }[];
}

/** Sum up how far content moves without the visitor's doing; only the thread itself may, as it grows. Runs in the page. */
function observeLayoutShifts(): void {
  const found = globalThis as { layoutShift?: number };
  found.layoutShift = 0;
  const isInThread = ({ node }: { node: Node | null }) => (node as Element | null)?.closest?.("[role=log]");
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries() as LayoutShift[]) {
      if (!shift.hadRecentInput && !shift.sources.every(isInThread)) found.layoutShift! += shift.value;
    }
  }).observe({ type: "layout-shift", buffered: true });
}

/** Hold back most of a streamed text for some time, and note how long the reply is on the page meanwhile. Runs in the page. */
function streamInTwoBatches(): void {
  const found = globalThis as { replyLengths?: number[] };
  const lengths = (found.replyLengths = [] as number[]);
  const original = fetch;
  globalThis.fetch = async (input, init) => {
    const response = await original(input, init);
    if (!(input instanceof Request ? input.url : String(input)).endsWith("/stream")) return response;
    const frames = (await response.text()).split("\n\n");
    const deltas = frames.filter((frame) => frame.includes("event: text_delta"));
    const [first] = deltas;
    if (!first) return new Response(frames.join("\n\n"), response);
    const text = deltas.map((frame) => (JSON.parse(frame.split("data: ")[1]!) as TextDelta).payload.text).join("");
    const textDelta = (part: string, fraction: number) => {
      const data = JSON.parse(first.split("data: ")[1]!) as TextDelta;
      const event = { ...data, number: data.number + fraction, payload: { ...data.payload, text: part } };
      return `id: ${data.number}\nevent: text_delta\ndata: ${JSON.stringify(event)}`;
    };
    const at = frames.indexOf(first);
    const rest = frames.slice(at).filter((frame) => !deltas.includes(frame));
    const parts = [[...frames.slice(0, at), textDelta(text.slice(0, 20), 0)], [textDelta(text.slice(20), 0.5)], rest];
    const body = new ReadableStream({
      async start(stream) {
        for (const part of parts) {
          stream.enqueue(new TextEncoder().encode(`${part.join("\n\n")}\n\n`));
          await new Promise((resolve) => setTimeout(resolve, 1000));
        }
        stream.close();
      },
    });
    setInterval(() => lengths.push(document.querySelector(".chat-reply .cited-text")?.textContent.length ?? 0), 50);
    return new Response(body, response);
  };
}

interface TextDelta {
  number: number;
  payload: { text: string };
}

/** Return a stream in which a model thinks before its first words. */
function addReasoning(stream: string): string {
  return addBeforeText(stream, [
    { kind: "reasoning_delta", payload: { text: "The crack is a record. ", block: 1 } },
    { kind: "reasoning_delta", payload: { text: "I look for its width.", block: 1 } },
    { kind: "reasoning_end", payload: { block: 1, milliseconds: 4_200 } },
  ]);
}

/** Return a stream in which an earlier step has a text, too, and an attempt of the last one failed. It does not end. */
function addStepText(stream: string): string {
  const added = addBeforeText(stream, [
    { kind: "text_delta", payload: { text: "I look into the survey.", block: 0 } },
    { kind: "text_delta", payload: { text: "It is 0.9 mm", block: 2 } },
    { kind: "text_reset", payload: { step: 2 } },
  ]);
  return added.replace(/id: \d+\nevent: done\n.*\n\n/, "");
}

/** Return a stream with these events before its first text. */
function addBeforeText(stream: string, events: { kind: string; payload: object }[]): string {
  const frames = stream.split("\n\n");
  const first = frames.findIndex((frame) => frame.includes("event: text_delta"));
  if (first < 0) return stream;
  const { number, turn_id, at } = JSON.parse(frames[first]!.split("data: ")[1]!) as {
    number: number;
    turn_id: string;
    at: string;
  };
  const added = events.map((event, index) => {
    const data = { ...event, number: number - 1 + (index + 1) / 4, turn_id, at };
    return `id: ${number - 1}\nevent: ${event.kind}\ndata: ${JSON.stringify(data)}`;
  });
  return [...frames.slice(0, first), ...added, ...frames.slice(first)].join("\n\n");
}
