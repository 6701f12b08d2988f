import { changes } from "./changes.ts";
import { expect, test } from "./fixtures.ts";

test("a held reply is decided in its conversation", async ({ page, open, operator }) => {
  const sessionId = await operator.holdReply();
  await open("#/inbox");
  await expect(page.locator(`#thread-${sessionId}`)).toContainText("1 decision");
  await page.locator(`#thread-${sessionId}`).click();
  const card = page.getByRole("region", { name: "To decide" }).getByRole("article");
  await expect(card).toContainText("more than a day ago");
  await expect(card).not.toContainText("window_closed");
  await card.getByRole("button", { name: "Dismiss" }).click();
  const dialog = page.getByRole("dialog", { name: "Dismiss the reply?" });
  await expect(dialog).toContainText("The reply will not be sent");
  await dialog.getByRole("button", { name: "Dismiss" }).click();
  await expect(card).toHaveCount(0);
  await expect(page.getByText("Dismissed. The reply will not be sent.")).toBeVisible();
  await expect(page.getByText("The agent answers")).toBeVisible();
});

test("the daily cap is changed and given back", async ({ page, open }) => {
  await open("#/costs");
  await page.getByRole("button", { name: "Change the cap" }).click();
  await page.getByLabel("Daily cap in US dollars").fill("7.5");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("of $7.50 a day")).toBeVisible();
  await expect(page.getByText("The cap is this tenant’s own.")).toBeVisible();
  await page.getByRole("button", { name: "Change the cap" }).click();
  await page.getByLabel("Daily cap in US dollars").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The cap is the deployment’s default.")).toBeVisible();
});

test("a key is created, shown once and revoked", async ({ page, open, saveScreenshot }) => {
  const name = `Import ${Date.now()}`;
  await open("#/settings/keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel(/^Editor/).check();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await expect(page.getByText("It is not shown again.")).toBeVisible();
  await saveScreenshot("created-key");
  await page.getByRole("button", { name: "Done" }).click();
  const row = page.getByRole("row").filter({ hasText: name });
  await expect(row).toContainText("Editor");
  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(row).toContainText("Revoked");
});

test("a member is added and may not sign in any more", async ({ page, open }) => {
  const name = `Marta ${Date.now()}`;
  await open("#/settings/members");
  await page.getByRole("button", { name: "Add a member" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Subject").fill(name);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name }).click();
  await page.getByLabel("May sign in").uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("row").filter({ hasText: name })).toContainText("Inactive");
});

test("a change of an agent is undone", async ({ page, open, saveScreenshot, checkAccessibility }) => {
  let isUndone = false;
  await page.route("**/v1/changes?*", (route) => route.fulfill({ json: changes(isUndone) }));
  await page.route("**/v1/turns/*/undo", (route) => {
    isUndone = true;
    return route.fulfill({ json: { writes: [] } });
  });
  await open("#/insights");
  await expect(page.getByRole("heading", { name: "Changed: Settlement of the strip footing at C4" })).toBeVisible();
  await expect(page.getByRole("deletion")).toHaveText("watched");
  await expect(page.getByRole("insertion")).toHaveText("closed");
  await checkAccessibility();
  await saveScreenshot("change");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("Undone")).toBeVisible();
});
