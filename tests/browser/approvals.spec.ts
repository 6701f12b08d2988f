import { randomUUID } from "node:crypto";

import { ask, TENANT, type Schema } from "./api.ts";
import { Approvals } from "./approvals.ts";
import { expect, test } from "./fixtures.ts";

test("a visitor is asked before a call runs, edits it, refuses it, and finds the outcome again", async ({
  page,
  open,
  checkAccessibility,
  saveScreenshot,
}) => {
  const approvals = new Approvals(page);
  await approvals.start();
  page.on("response", async (response) => {
    if (response.request().method() !== "POST" || !response.url().endsWith("/v1/sessions")) return;
    approvals.ask(((await response.json()) as Schema["OpenedSession"]).session_id, "user");
  });
  await open(`chat.html#/${TENANT}/site-desk`);
  await page.getByRole("textbox", { name: "Message to Site desk" }).fill("Tell Joanna that the crane is booked.");
  await page.keyboard.press("Enter");

  const card = page.getByRole("article", { name: "Notify foreman" });
  const asked = card.filter({ hasText: "Needs an answer" });
  await expect(asked).toContainText("Nothing happens before you answer.");
  await expect(asked.getByRole("definition").first()).toHaveText("Joanna Pryce");
  await expect(asked.getByRole("term").nth(2)).toHaveText("Urgent");
  await checkAccessibility();
  await saveScreenshot("approval-chat");

  await asked.getByRole("button", { name: "Edit" }).click();
  await expect(asked.getByLabel("Foreman")).toBeFocused();
  await asked.getByLabel("Foreman").fill("Tom Hale");
  await checkAccessibility();
  await asked.getByRole("button", { name: "Check the changes" }).click();
  await expect(asked.getByRole("definition").first()).toHaveText("Tom Hale");
  await expect(card.filter({ hasText: "Replaced" })).toContainText("Nothing was done.");

  await asked.getByRole("button", { name: "No", exact: true }).press("Enter");
  await expect(asked.getByLabel(/Why not/)).toBeFocused();
  await page.keyboard.type("Ask again after the pour");
  await checkAccessibility();
  await saveScreenshot("approval-refusal");
  await asked.getByRole("button", { name: "Say no" }).press("Enter");
  const refused = card.filter({ hasText: "Refused by you at" });
  await expect(refused.getByRole("status")).toBeFocused();
  expect(approvals.answers.map(({ decision, reason }) => [decision, reason ?? ""])).toEqual([
    ["approve", ""],
    ["refuse", "Ask again after the pour"],
  ]);

  await page.reload();
  await expect(refused).toContainText("Reason: Ask again after the pour");
  await saveScreenshot("approval-refused");
});

test("a member approves in the inbox and allows the tool for a week", async ({
  page,
  open,
  checkAccessibility,
  saveScreenshot,
}) => {
  const approvals = new Approvals(page);
  approvals.ask(randomUUID(), "user", false);
  approvals.ask(randomUUID(), "editor");
  await approvals.start();
  await open("#/inbox");
  const card = page.getByRole("article", { name: "Notify foreman" });
  await expect(card).toHaveCount(1);
  await checkAccessibility();
  await saveScreenshot("approval-inbox");
  await card.getByRole("button", { name: "Always allow …" }).click();
  await card.getByLabel("For how long").selectOption("7 days");
  await checkAccessibility();
  await saveScreenshot("approval-grant");
  await card.getByRole("button", { name: "Yes, and always allow" }).click();
  await expect(card).toContainText("Approved at");
  expect(approvals.answers[0]?.always?.until).toBeTruthy();
});

test("a member answers inside the conversation that waits for it", async ({
  page,
  open,
  operator,
  request,
  checkAccessibility,
  saveScreenshot,
}) => {
  const { sessionId } = await ask(request, "when does the crane come?");
  await operator.send("POST", `inbox/${sessionId}/open`, { text: "The agent wants to page Joanna." });
  const approvals = new Approvals(page);
  approvals.ask(sessionId, "editor");
  await approvals.start();
  await open(`#/inbox/${sessionId}`);
  const card = page.getByRole("article", { name: "Notify foreman" });
  await expect(card.getByRole("definition").first()).toHaveText("Joanna Pryce");
  await expect(card).toContainText("Nothing happens before you answer.");
  await checkAccessibility();
  await saveScreenshot("approval-conversation");
  await card.getByRole("button", { name: "Yes", exact: true }).click();
  await expect(card).toContainText("Approved at");
  expect(approvals.answers.map(({ decision }) => decision)).toEqual(["approve"]);
});

test("a permission is listed and revoked", async ({ page, open, checkAccessibility, saveScreenshot }) => {
  let isRevoked = false;
  const grant: Schema["GrantView"] = {
    id: randomUUID(),
    user_id: randomUUID(),
    binding_id: randomUUID(),
    tool: "notify_foreman",
    granted_by: "Marta",
    created_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 7 * 86_400_000).toISOString(),
  };
  await page.route("**/v1/approvals/grants?*", (route) =>
    route.fulfill({ json: { grants: isRevoked ? [] : [grant], next_cursor: "" } }),
  );
  await page.route(`**/v1/approvals/grants/${grant.id}`, (route) => {
    isRevoked = true;
    return route.fulfill({ status: 204 });
  });
  await open("#/settings/permissions");
  await expect(page.getByRole("row").filter({ hasText: "Notify foreman" })).toContainText("Person …");
  await checkAccessibility();
  await saveScreenshot("permissions");
  await page.getByRole("button", { name: "Revoke Notify foreman" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("heading", { name: "No permissions" })).toBeVisible();
});
