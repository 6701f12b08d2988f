import { randomInt } from "node:crypto";

import { TENANT, type Schema } from "./api.ts";
import { expect, test } from "./fixtures.ts";

test("the phone writes to the binding that one chooses, with its own questions", async ({
  page,
  open,
  saveScreenshot,
}) => {
  await open("#/playground");
  const phone = page.getByRole("region", { name: "Simulated phone" });
  await phone.getByLabel("Your phone number").fill(`+447700900${randomInt(100, 1_000)}`);
  await phone.getByLabel("Your phone number").press("Enter");
  await phone.getByLabel("Write to").selectOption("Site desk");
  await expect(phone.getByRole("heading", { name: "Asha" })).toBeVisible();
  await expect(phone.getByRole("button", { name: "When does the crane come?" })).toBeVisible();

  await phone.getByLabel("Write to").selectOption("Contract desk");
  await expect(phone.getByRole("heading", { name: "Tobias" })).toBeVisible();
  await phone.getByRole("button", { name: "What is our liability limited to?" }).click();
  const messages = phone.getByRole("log", { name: "Messages on the phone" });
  await expect(messages).toContainText("£2,430,000", { timeout: 25_000 });
  await saveScreenshot("playground-phone");

  await phone.getByLabel("Write to").selectOption("Site desk");
  await expect(messages).not.toContainText("£2,430,000");
});

test("a citation in the chat opens the source at the cited heading", async ({ page, open, saveScreenshot }) => {
  await open(`#/playground/${TENANT}/site-desk`);
  await page.getByRole("button", { name: "How wide is the crack at C4, and may we backfill?" }).first().click();
  const reply = page.getByRole("article", { name: "Reply of Site desk" });
  await expect(reply.getByRole("list", { name: "Sources" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Turn 1" })).toBeVisible();
  await saveScreenshot("playground-reply");
  await reply
    .getByRole("link", { name: /^Source 1: Site report no. 19/ })
    .first()
    .click();
  await expect(page.getByRole("heading", { name: "Site report no. 19", exact: true })).toBeVisible();
  await expect(page.locator(".records-cited").first()).toBeInViewport();
});

test("neither a reply nor its source shows the marks of a file's pages", async ({ page, open, operator }) => {
  const contract = "documents/contracts/main-works-contract.md";
  expect((await operator.get<Schema["DocumentTextView"]>(contract)).content).toContain("<!-- page: 4 -->");
  await open(`#/playground/${TENANT}/contract-desk`);
  await page.getByLabel(/^Message to/).fill("To what is the contractor's total liability limited?");
  await page.keyboard.press("Enter");
  const reply = page.getByRole("article", { name: "Reply of Contract desk" });
  await expect(reply.getByRole("list", { name: "Sources" })).toBeVisible();
  await expect(reply).toContainText("£2,430,000");
  await expect(reply).not.toContainText(/<!--|page:/);
  await reply
    .getByRole("link", { name: /^Source \d+: Main works contract/ })
    .first()
    .click();
  await expect(page.getByRole("heading", { name: "14. Liability" })).toBeVisible();
  await expect(page.locator("main")).not.toContainText(/<!--|page:/);
});

test("the header says what answers the tenant: its scenes, or what a search finds", async ({ page, open }) => {
  const demoTenants = ["another"];
  await page.route("**/console/settings.json", async (route) => {
    const settings = (await (await route.fetch()).json()) as Schema["ConsoleSettingsView"];
    expect(settings.model).toBe("offline");
    await route.fulfill({ json: { ...settings, demo_tenants: demoTenants } });
  });
  await open("#/playground");
  const badge = page.locator(".brand .badge.warning");
  const line = page.locator(".model-line");
  await expect(badge).toHaveText("no model key");
  await expect(line).toHaveText("No model key: replies quote what a search finds");
  demoTenants.push(TENANT);
  await open("#/playground");
  await expect(badge).toHaveText("demo");
  await expect(line).toContainText("Scripted demo");
});
