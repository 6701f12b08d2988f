import type { Schema } from "./api.ts";
import { expect, test } from "./fixtures.ts";

test("a person sends a template after a day, and the history has its text", async ({
  page,
  open,
  operator,
  checkAccessibility,
  saveScreenshot,
}) => {
  const sessionId = await operator.holdReply();
  await operator.send("POST", `inbox/${sessionId}/open`, { text: "" });
  await open(`#/inbox/${sessionId}`);
  await page.getByRole("button", { name: "Take" }).click();
  await expect(page.getByText("WhatsApp takes no free text. Choose a template.")).toBeVisible();
  const preview = page.getByRole("region", { name: "Preview" });
  await expect(preview).toContainText("Hello {{1}}, we plan to be with you on {{2}}.");
  const send = page.getByRole("button", { name: "Send", exact: true });
  await expect(send).toBeDisabled();
  await page.getByLabel("Template").selectOption("Answer ready (en_GB)");
  await expect(page.getByLabel("Value 2")).toHaveCount(0);
  await page.getByLabel("Template").selectOption("Visit planned (en_GB)");
  await page.getByLabel("Value 1").fill("Jon");
  await page.getByLabel("Value 2").fill("Tuesday at 9");
  const text = "Hello Jon, we plan to be with you on Tuesday at 9.";
  await expect(preview).toContainText(text);
  await checkAccessibility();
  await send.scrollIntoViewIfNeeded();
  await saveScreenshot("template-picker");
  await send.click();
  await expect(page.getByRole("region", { name: "Messages" })).toContainText(text);
  await expect(page.getByLabel("Value 1")).toHaveValue("");
  await saveScreenshot("template-sent");
  const delivery = async () => {
    const { turns } = await operator.get<Schema["TurnPageView"]>("turns", { session_id: sessionId });
    return turns[0]?.delivery?.state;
  };
  await expect.poll(delivery, { timeout: 40_000 }).toMatch(/sent|delivered|read/);
});

test.describe("a window that closes while somebody writes", () => {
  test.use({ expectedErrors: /status of 409/ });

  test("keeps the text and offers the templates", async ({ page, open, operator }) => {
    const sessionId = await operator.holdReply();
    await operator.send("POST", `inbox/${sessionId}/open`, { text: "" });
    let isOpen = true;
    await page.route(`**/v1/inbox/${sessionId}/context`, async (route) => {
      const context = (await (await route.fetch()).json()) as Schema["InboxContextView"];
      const window = isOpen ? { ...context.window, is_open: true, closes_at: null } : context.window;
      await route.fulfill({ json: { ...context, window } });
    });
    await page.route(`**/v1/inbox/${sessionId}/messages`, async (route) => {
      isOpen = false;
      await route.continue();
    });
    await open(`#/inbox/${sessionId}`);
    await page.getByRole("button", { name: "Take" }).click();
    await page.getByLabel("Reply", { exact: true }).fill("We come on Tuesday.");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await expect(page.getByText("choose a template (visit_planned")).toBeVisible();
    await expect(page.getByLabel("Template")).toBeVisible();
    await expect(page.getByText("Your text is kept until they write: “We come on Tuesday.”")).toBeVisible();
    await page.reload();
    await expect(page.getByText("Your text is kept until they write: “We come on Tuesday.”")).toBeVisible();
  });
});
