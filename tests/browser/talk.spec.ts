import { TENANT, type Schema } from "./api.ts";
import { expect, test } from "./fixtures.ts";

const RISK = "risk/R-03";

test("a member who talks about a record talks as themselves", async ({ page, open, leaveLaptop, request }) => {
  test.slow();
  await leaveLaptop();
  const { token } = (await (await request.get("../local/token")).json()) as { token: string };
  await open(`#/records/${RISK}`);
  await page.getByLabel("API key or member token").fill(token);
  await page.getByRole("button", { name: "Sign in with the key" }).click();
  await page.getByRole("link", { name: "Talk about it" }).click();
  await expect(page).toHaveURL(/#\/talk\//);

  const opening = page.waitForResponse((answer) => answer.url().endsWith("/v1/sessions") && answer.status() === 201);
  await page.getByLabel(/^Message to/).fill("What is our liability limited to?");
  await page.keyboard.press("Enter");
  const opened = (await (await opening).json()) as Schema["OpenedSession"];
  expect(opened.visitor_token).toBeNull();
  expect(Date.parse(opened.expires_at) - Date.now()).toBeLessThanOrEqual(12 * 3_600_000);
  const sources = page.getByRole("article", { name: /^Reply of/ }).getByRole("list", { name: "Sources" });
  await expect(sources.getByRole("link").first()).toBeVisible({ timeout: 60_000 });
  expect(await page.evaluate(() => localStorage.getItem("parlour.visitors"))).toBeNull();
});

test("a member talks as themselves in the playground", async ({ page, open, checkAccessibility, saveScreenshot }) => {
  await open(`#/playground/${TENANT}/site-desk`);
  const opening = page.waitForResponse((answer) => answer.url().endsWith("/v1/sessions") && answer.status() === 201);
  await page.getByRole("button", { name: "When does the crane come?" }).first().click();
  expect(((await (await opening).json()) as Schema["OpenedSession"]).visitor_token).toBeNull();
  await expect(page.getByRole("article", { name: "Reply of Site desk" })).toBeVisible({ timeout: 30_000 });
  await open(`#/talk/${TENANT}/site-desk`);
  await expect(page.getByLabel(/^Message to/)).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("talk");
});
