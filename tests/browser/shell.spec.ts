import { gzipSync } from "node:zlib";

import type { Page } from "@playwright/test";

import { edit, expect, test } from "./fixtures.ts";

/** Bytes, compressed: what a reader downloads before the first page is shown. */
const FIRST_LOAD = 150_000;

const isServed = process.env.CONSOLE_URL?.endsWith("/console/") ?? false;

test("the first load is small and under a strict policy", async ({ page }) => {
  test.skip(!isServed, "the development server serves sources");
  const files: Promise<Buffer>[] = [];
  page.on("response", (response) => {
    if (/\.(js|css|svg)$|\/console\/$/.test(response.url())) files.push(response.body());
  });
  const response = await page.goto("");
  expect(response?.headers()["content-security-policy"]).toContain("script-src 'self'");
  await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
  const loaded = (await Promise.all(files)).reduce((total, file) => total + gzipSync(file).length, 0);
  console.log(`First load: ${loaded} bytes compressed`);
  expect(loaded).toBeLessThan(FIRST_LOAD);
});

test("an empty inbox says what comes there, and leads to the playground", async ({
  page,
  open,
  checkAccessibility,
  saveScreenshot,
}) => {
  await open("#/inbox?list=snoozed");
  await expect(page.getByText("A conversation comes here when somebody asks for a person")).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("inbox-empty");
  await page.getByRole("main").getByRole("link", { name: "Playground" }).click();
  await expect(page.getByRole("heading", { name: "Playground", level: 1 })).toBeVisible();
});

test("the palette leads to sections, records and conversations", async ({ page, open }) => {
  await open("");
  await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
  await expect(page.getByText("Northbank office")).toBeVisible();
  await openPalette(page);
  await page.keyboard.type("cost");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Costs" })).toBeVisible();
  await openPalette(page);
  await page.keyboard.type("settlement of");
  await expect(page.getByRole("option", { name: /Settlement of the strip footing/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Settlement of the strip footing at C4" })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Costs" })).toBeVisible();
});

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Search or jump to" })).toBeFocused();
}

test("a record is found, changed and left by keyboard alone", async ({ page, open, operator }) => {
  const risk = await operator.createRisk(`Keyboard ${Date.now()}`);
  await open("#/records?type=risk");
  await expect(page.getByRole("link", { name: risk.name })).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the page" })).toBeFocused();
  await page.keyboard.press("Enter");
  await tabTo(page, risk.name);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: risk.name })).toBeVisible();
  await tabTo(page, "Edit");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Name *")).toBeFocused();
  await page.keyboard.press("End");
  await page.keyboard.type(", changed");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("heading", { name: `${risk.name}, changed` })).toBeVisible();
  await tabTo(page, "Delete");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Delete", exact: true })).toBeFocused();
});

/** Press Tab until the control of that name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 99; presses += 1) {
    await page.keyboard.press("Tab");
    // Behind the last control the browser's own have the focus.
    const focused = await page.evaluate(() => document.activeElement?.textContent.trim());
    if (focused === name) return;
  }
  throw new Error(`Tab does not lead to “${name}”.`);
}

test.describe("signing in", () => {
  test("with a key shows the tenant and what the key may do; signing out forgets it", async ({
    page,
    operator,
    signInWithKey,
    checkAccessibility,
    saveScreenshot,
  }) => {
    const viewer = await operator.createKey("Viewer of a test", ["viewer"]);
    await signInWithKey(viewer.key);
    await expect(page.getByText("may read")).toBeVisible();
    await expect(page.getByText("Northbank office")).toBeVisible();
    await page.getByRole("link", { name: "Costs" }).click();
    await expect(page.getByRole("heading", { name: "Costs", level: 1 })).toBeVisible();
    await expect(page.getByRole("button", { name: /cap|Switch/ })).toHaveCount(0);
    await page.getByRole("link", { name: "Settings" }).click();
    await expect(page.getByText("Short name")).toBeVisible();
    await expect(page.getByRole("link", { name: "API keys" })).toHaveCount(0);
    await page.getByRole("link", { name: "Records", exact: true }).first().click();
    await expect(page.locator(".records-row").first()).toBeVisible();
    await expect(page.getByRole("link", { name: /^New/ })).toHaveCount(0);
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("heading", { name: "Sign in to Parlour" })).toBeVisible();
    await checkAccessibility();
    await saveScreenshot("sign-in");
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain(viewer.key);
  });

  test("with a key without a role explains whom to ask", async ({ page, operator, signInWithKey, saveScreenshot }) => {
    await signInWithKey((await operator.createKey("Key without a role", [])).key);
    await expect(page.getByRole("heading", { name: "You have no role yet" })).toBeVisible();
    await expect(page.getByText("has no role")).toBeVisible();
    await saveScreenshot("no-role");
  });

  test.describe("refused", () => {
    test.use({ expectedErrors: /status of 40[13]/ });

    test("says why, and keeps what was typed", async ({ page, signInWithKey }) => {
      await signInWithKey("parlour_wrong");
      await expect(page.getByRole("alert")).toBeVisible();
      await expect(page.getByLabel("API key or member token")).toHaveValue("parlour_wrong");
    });

    test("later asks again, and the form below keeps its text", async ({
      page,
      operator,
      signInWithKey,
      saveScreenshot,
    }) => {
      const risk = await operator.createRisk(`Expiry ${Date.now()}`);
      const { id, key } = await operator.createKey("Expires", ["editor", "viewer"]);
      const successor = await operator.createKey("Successor", ["editor", "viewer"]);
      await signInWithKey(key);
      await page.goto(`./#/records/risk/${risk.key}`);
      await edit(page);
      await page.getByLabel("Name *").fill(`${risk.name}, changed`);
      await operator.send("DELETE", `keys/${id}`);
      await page.getByRole("button", { name: "Save" }).click();
      const dialog = page.getByRole("dialog", { name: "Your sign-in has expired" });
      await expect(dialog).toBeVisible();
      await saveScreenshot("expired");
      await dialog.getByLabel("API key or member token").fill(successor.key);
      await dialog.getByRole("button", { name: "Sign in with the key" }).click();
      await expect(dialog).toHaveCount(0);
      await expect(page.getByLabel("Name *")).toHaveValue(`${risk.name}, changed`);
      await page.getByRole("button", { name: "Save" }).click();
      await expect(page.getByRole("heading", { name: `${risk.name}, changed` })).toBeVisible();
    });
  });

  test("with the provider comes back to the page that asked for it", async ({ page, open, leaveLaptop }) => {
    test.skip(!isServed, "the issuer sends nobody to the development server");
    await leaveLaptop();
    await open("#/costs");
    await page.getByRole("button", { name: /^Continue with/ }).click();
    await expect(page.getByRole("heading", { name: "Costs" })).toBeVisible();
    await expect(page).toHaveURL(/\/console\/#\/costs$/);
    await expect(page.getByText("Developer · may change everything")).toBeVisible();
  });
});
