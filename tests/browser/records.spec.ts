import { edit, expect, test } from "./fixtures.ts";

/** What extraction and markdown leave in texts, and no page may show. */
const RAW = /<!--|\*\*|window_closed|\^\\\+/;

test("records show their values with labels, and a change is saved", async ({ page, open, operator }) => {
  const risk = await operator.createRisk(`Listed ${Date.now()}`);
  await open("#/records?type=risk");
  const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: risk.name }) });
  await expect(row).toContainText(/Owner\s*Joanna Pryce/);
  await expect(row).toContainText(/Severity\s*low/);
  await row.getByRole("link", { name: risk.name }).click();
  await edit(page);
  await page.getByLabel("Severity *").selectOption("high");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("form")).toHaveCount(0);
  await expect(page.getByText("high", { exact: true })).toBeVisible();
});

test("a Pulse cites its sources and is written again on demand", async ({ page, open }) => {
  test.slow();
  await open("#/records/project/NRS");
  const pulse = page.getByRole("region", { name: "Pulse" });
  await pulse.getByRole("button", { name: "Refresh" }).click();
  await expect(pulse.getByText(/was written now|Checked now/)).toBeVisible({ timeout: 60_000 });
  await expect(pulse.getByRole("list", { name: "Sources" })).toBeVisible();
  await expect(pulse).not.toContainText(RAW);
  await pulse.getByRole("button", { name: "Versions" }).click();
  await expect(page.getByRole("dialog")).toContainText(/\d versions?/);
  await page.keyboard.press("Escape");
  await pulse
    .getByRole("link", { name: /^Source 2/ })
    .first()
    .click();
  await expect(page.getByRole("heading", { name: "Riverside School extension" })).toBeVisible();
});

test("documents that belong to no record are listed, and a search opens the passage", async ({ page, open }) => {
  await open("#/documents");
  await expect(page.getByRole("link", { name: "Crane safety card, Hindi and English" })).toBeVisible();
  await page.getByRole("searchbox", { name: "Search", exact: true }).fill("mean wind when lifting stops");
  await page.keyboard.press("Enter");
  await expect(page.getByText(/results, best first/)).toBeVisible();
  const results = page.locator("main");
  await expect(results).not.toContainText(RAW);
  await results.getByRole("link", { name: "Lifting procedure LO-2" }).first().click();
  await expect(page.getByRole("heading", { name: "Lifting procedure LO-2", level: 1, exact: true })).toBeVisible();
  await expect(page.locator(".records-cited").first()).toBeInViewport();
  await expect(page.locator("main")).not.toContainText(RAW);
});

test("an e-mail shows its addresses once, without a scheme", async ({ page, open }) => {
  await open("#/records/document/mails%2F2026-02-19-crane-booking.eml");
  await expect(page.getByText("callum.reid@highreach.example")).toBeVisible();
  await expect(page.locator("main")).not.toContainText("mailto:");
});

test.describe("files", () => {
  test.use({ expectedErrors: /status of 422/ });

  test("are uploaded, indexed and found, and wrong ones say why", async ({ page, open, operator }) => {
    const risk = await operator.createRisk(`With files ${Date.now()}`);
    const word = `zephyr${Date.now()}`;
    await open(`#/records/risk/${risk.key}`);
    const files = page.getByLabel(/Add files/);
    const upload = (name: string, content: string) =>
      files.setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
    await upload("anchors.md", `# Anchors\n\n<!-- page: 1 -->\n\nThe ${word} anchor holds **40 kN**.\n`);
    await expect(page.getByRole("link", { name: "anchors.md" })).toBeVisible();
    await upload("setup.exe", "MZ");
    await expect(page.getByRole("alert")).toContainText("This file type is not supported");
    await page.getByRole("button", { name: "Dismiss setup.exe" }).click();
    await expect(page.getByRole("alert")).toHaveCount(0);
    await upload("broken.pdf", "%PDF-1.7 and no more");
    await expect(page.getByRole("listitem").filter({ hasText: "broken.pdf" })).toContainText("Failed", {
      timeout: 20_000,
    });
    await expect(page.getByRole("listitem").filter({ hasText: "anchors.md" })).toContainText("1 page", {
      timeout: 20_000,
    });
    await page.goto(`./#/search?q=${word}`);
    await expect(page.getByRole("link", { name: "anchors.md" }).first()).toBeVisible();
    await expect(page.locator("main")).not.toContainText(RAW);
  });
});
