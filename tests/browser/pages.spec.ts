import type { Locator, Page } from "@playwright/test";

import { ask, TENANT, type Conversation, type Operator, type Schema } from "./api.ts";
import { expect, test } from "./fixtures.ts";

interface Visit {
  name: string;
  address: string;
  /** What is on the page once it is complete. */
  shows: (page: Page) => Locator;
  /** Open what a click opens: a dialog, a form, a menu. */
  act?: (page: Page) => Promise<void>;
}

const heading = (name: string | RegExp) => (page: Page) => page.getByRole("heading", { name }).first();
const text = (words: string | RegExp) => (page: Page) => page.getByText(words).first();
const press = (name: string | RegExp) => async (page: Page) => page.getByRole("button", { name }).first().click();
const dialog = (page: Page) => page.getByRole("dialog");

/** Every page of the console, with each of its parts, forms and dialogs. */
function visits({ sessionId, turnId, personId }: Conversation, { fileId, heldId }: Prepared): Visit[] {
  const conversation = `#/conversations/${sessionId}`;
  const document = "#/records/document/reports%2Fsite-report-2026-02-18.md";
  return [
    { name: "inbox", address: "#/inbox", shows: text("1 decision") },
    { name: "inbox-thread", address: `#/inbox/${heldId}`, shows: text("Held reply") },
    { name: "inbox-decision", address: `#/inbox/${heldId}?`, shows: dialog, act: press("Send now") },
    { name: "conversations", address: "#/conversations", shows: (page) => page.getByRole("table") },
    {
      name: "conversations-none",
      address: "#/conversations?text=nobody-wrote-this",
      shows: text("No conversation matches"),
    },
    { name: "conversation", address: conversation, shows: text("Offline model") },
    {
      name: "trace",
      address: `${conversation}?turn=${turnId}`,
      shows: heading("Sources that the reply cites"),
      act: press("Why this reply?"),
    },
    { name: "prompt", address: `${conversation}/prompt/${turnId}`, shows: heading("Prompt of turn 1") },
    {
      name: "prompt-left-out",
      address: `${conversation}/prompt/${turnId}?view=left-out`,
      shows: heading("Prompt of turn 1"),
    },
    {
      name: "prompt-changes",
      address: `${conversation}/prompt/${turnId}?view=changes`,
      shows: heading("Prompt of turn 1"),
    },
    { name: "people", address: "#/people", shows: (page) => page.getByRole("table").first() },
    { name: "person", address: `#/people/${personId}`, shows: heading("What is remembered") },
    { name: "records", address: "#/records", shows: (page) => page.locator(".records-row").first() },
    { name: "records-risks", address: "#/records?type=risk", shows: (page) => page.locator(".records-row").first() },
    { name: "record", address: "#/records/risk/R-03", shows: heading("Properties") },
    {
      name: "record-form",
      address: "#/records/risk/R-08",
      shows: (page) => page.getByRole("form"),
      act: press("Edit"),
    },
    { name: "project", address: "#/records/project/NRS", shows: heading("Pulse") },
    { name: "new-record", address: "#/new?type=task", shows: heading("New task") },
    { name: "documents", address: "#/documents", shows: text("Lifting procedure LO-2") },
    { name: "document", address: document, shows: heading("Site report no. 19") },
    {
      name: "document-at-heading",
      address: `${document}?heading=Finding%3A+crack+in+the+strip+footing+at+C4`,
      shows: (page) => page.locator(".records-cited").first(),
    },
    { name: "files", address: "#/files", shows: text("wind-limits.md") },
    { name: "file", address: `#/files/${fileId}?page=2`, shows: heading("wind-limits.md") },
    { name: "search-empty", address: "#/search", shows: heading("Search records") },
    { name: "search", address: "#/search?q=crane", shows: text(/results, best first/) },
    { name: "agents", address: "#/agents", shows: text("Contract desk") },
    { name: "agent", address: "#/agents/site-desk", shows: heading("Definition") },
    { name: "changes", address: "#/insights/changes", shows: heading("Insights") },
    { name: "pulses", address: "#/insights/pulses", shows: heading("Last 14 days") },
    { name: "costs", address: "#/costs", shows: heading("By purpose") },
    { name: "cap", address: "#/costs?days=30", shows: dialog, act: press("Change the cap") },
    { name: "settings", address: "#/settings", shows: text("Short name") },
    { name: "members", address: "#/settings/members", shows: (page) => page.getByRole("table") },
    { name: "new-member", address: "#/settings/members?", shows: dialog, act: press("Add a member") },
    { name: "keys", address: "#/settings/keys", shows: (page) => page.getByRole("button", { name: "Create a key" }) },
    { name: "new-key", address: "#/settings/keys?", shows: dialog, act: press("Create a key") },
    { name: "limits", address: "#/settings/limits", shows: (page) => page.getByRole("table") },
    { name: "pack", address: "#/settings/pack", shows: text("Choose a folder …") },
    { name: "embedding", address: "#/settings/embedding", shows: heading("Settings") },
    { name: "audit", address: "#/settings/audit", shows: (page) => page.getByRole("table") },
    { name: "playground", address: `#/playground/${TENANT}/site-desk`, shows: heading("Talk to Site desk") },
    { name: "palette", address: "#/costs", shows: dialog, act: async (page) => page.keyboard.press("Control+k") },
    { name: "no-page", address: "#/nothing", shows: heading("There is no such page") },
  ];
}

// A tenant that never moved to another embedding model has no such move.
test.use({ expectedErrors: /v1\/reembedding/ });

test("every page is accessible, fits the window and has targets to touch", async ({
  page,
  request,
  operator,
  open,
  findProblems,
  saveScreenshot,
}) => {
  test.setTimeout(180_000);
  const conversation = await ask(request, "How wide is the crack at C4?");
  const prepared = await prepare(operator);
  const problems: string[] = [];
  await open("#/inbox");
  for (const { name, address, shows, act } of visits(conversation, prepared)) {
    try {
      await page.goto(`./${address}`);
      await act?.(page);
      await page.mouse.move(0, 0);
      await expect(shows(page)).toBeVisible({ timeout: 6_000 });
      await expect(page.locator(".skeleton")).toHaveCount(0);
    } catch (error) {
      problems.push(`${name}: ${String(error)}`);
    }
    await saveScreenshot(name);
    const found = await findProblems();
    problems.push(...found.map((problem) => `${name}: ${problem}`));
    await page.keyboard.press("Escape");
  }
  expect(problems).toEqual([]);
});

/** The file, and the conversation of a held reply, that the pages show. */
interface Prepared {
  fileId: string;
  heldId: string;
}

/** Make what the pages list, where it is not there yet: a reply that waits, a key and a file. */
async function prepare(operator: Operator): Promise<Prepared> {
  const { items } = await operator.get<Schema["AttentionPageView"]>("attention");
  const held = items.find((item) => item.kind === "held_reply");
  const heldId = held?.kind === "held_reply" ? held.session_id : await operator.holdReply();
  const { keys } = await operator.get<Schema["KeyPageView"]>("keys");
  if (!keys.some(({ name }) => name === "Nightly import")) await operator.createKey("Nightly import", ["viewer"]);
  const { files } = await operator.get<Schema["FilePageView"]>("files", { text: "wind-limits.md" });
  const limits = "# Wind limits\n\nLifting stops at 10 m/s.\n";
  return { fileId: files[0]?.id ?? (await operator.uploadFile("wind-limits.md", limits)), heldId };
}
