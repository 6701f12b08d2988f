import { randomInt } from "node:crypto";

import { TENANT } from "./api.ts";
import { expect, test } from "./fixtures.ts";

test("the phone offers its own agent's questions and gets a reply", async ({ page, open, saveScreenshot }) => {
  await open(`#/playground/${TENANT}/contract-desk`);
  const phone = page.getByRole("region", { name: "Simulated phone" });
  await phone.getByLabel("Your phone number").fill(`+447700900${randomInt(100, 1_000)}`);
  await phone.getByLabel("Your phone number").press("Enter");
  await expect(phone.getByRole("heading", { name: "Asha" })).toBeVisible();
  await expect(phone.getByText("What do we owe per day")).toHaveCount(0);
  await phone.getByRole("button", { name: /How wide is the crack at C4/ }).click();
  await expect(phone.locator(".received")).toContainText("0.45 mm", { timeout: 20_000 });
  await expect(page.getByRole("heading", { name: "Sources that the reply cites" })).toBeVisible();
  await saveScreenshot("playground-phone");
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
