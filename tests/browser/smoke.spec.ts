import { expect, test } from "./fixtures.ts";

test("the built console opens", async ({ page, checkAccessibility, saveScreenshot }) => {
  const response = await page.goto("");
  expect(response?.headers()["content-security-policy"]).toContain("script-src 'self'");
  await expect(page.locator("#app > *").first()).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("start");
});
