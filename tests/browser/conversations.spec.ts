import { ask } from "./api.ts";
import { expect, test } from "./fixtures.ts";

test("an operator sees why an agent replied as it did", async ({
  page,
  open,
  request,
  checkAccessibility,
  saveScreenshot,
}) => {
  const { word } = await ask(request, "How wide is the crack at C4?");
  await open("#/conversations");
  await page.getByLabel("Title, name or last digits").fill(word);
  await expect(page.locator("tbody tr")).toHaveCount(1);
  await checkAccessibility();
  await saveScreenshot("conversations");
  await page.getByRole("link", { name: new RegExp(word) }).click();
  await page.getByRole("button", { name: "Why this reply?" }).click();
  await expect(page.getByRole("heading", { name: "Sources that the reply cites" })).toBeVisible();
  await page.locator("summary", { hasText: "Search knowledge" }).click();
  await expect(page.getByText("Arguments", { exact: true })).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("conversation");
  await page.getByRole("link", { name: "Open the prompt" }).click();
  await expect(page.getByRole("heading", { name: "Prompt of turn 1" })).toBeVisible();
  await page
    .getByRole("button", { name: /^Persona/ })
    .last()
    .click();
  await expect(page.getByRole("region", { name: "Text of the layer Persona" }).locator("pre").first()).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("prompt");
});

test("a prompt has one count of the budget and one of the provider, in the trace as in the inspector", async ({
  page,
  open,
  request,
}) => {
  const { sessionId } = await ask(request, "How wide is the crack at C4?");
  await open(`#/conversations/${sessionId}`);
  await page.getByRole("button", { name: "Why this reply?" }).click();
  const part = page.locator("section", { has: page.getByRole("heading", { name: /Last prompt by layer/ }) }).last();
  const [budgeted = "none"] = numbers(await part.textContent(), /([\d,]+) budget tokens/g);
  const trace = await page.locator(".trace").textContent();
  const billed = numbers(trace, /([\d,]+) tokens in/g);
  expect(billed).toHaveLength(2);
  const [total = "none"] = numbers(trace, /Tokens billed, in\s*([\d,]+)/g);
  expect(amount(total)).toBe(billed.map(amount).reduce((one, other) => one + other));
  await page.getByRole("link", { name: "Open the prompt" }).click();
  await expect(page.getByText(`${budgeted} of`)).toBeVisible();
  await expect(page.getByText(`the provider billed ${billed.at(-1)} in`)).toBeVisible();
});

/** Return the first group of every match. */
function numbers(text: string | null, pattern: RegExp): string[] {
  return [...(text ?? "").matchAll(pattern)].map(([, number = ""]) => number);
}

/** Return a count such as "1,852" as a number. */
function amount(text: string): number {
  return Number(text.replaceAll(",", ""));
}

test("today's failed conversations are two clicks away", async ({ page, open }) => {
  await open("#/people");
  await page.getByRole("link", { name: "Conversations", exact: true }).last().click();
  await page.getByRole("link", { name: "Failed today" }).click();
  await expect(page).toHaveURL(/state=failed&period=today/);
  await expect(page.getByLabel("State")).toHaveValue("failed");
});

test("a person is erased after the console said what that deletes", async ({
  page,
  open,
  request,
  checkAccessibility,
  saveScreenshot,
}) => {
  const { sessionId } = await ask(request, "My name is Rosa. Please reply in Hindi.", { isMarked: false });
  await open(`#/conversations/${sessionId}`);
  await page.locator(".page-title a").first().click();
  await expect(page.getByText("Rosa", { exact: true })).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("person");
  await page.getByRole("button", { name: "Erase this person" }).click();
  await expect(page.getByText(/Will be deleted: 1 conversation, 2 messages, 2 facts/)).toBeVisible();
  await page.getByRole("button", { name: "Erase for good" }).click();
  await page.getByRole("button", { name: "Back to people" }).click();
  await expect(page).toHaveURL(/#\/people$/);
});

test.describe("addresses that lead nowhere", () => {
  test.use({ expectedErrors: /status of 404/ });

  test("say so, and lead back", async ({ page, open }) => {
    await open("#/conversations/nothing");
    await expect(page.getByRole("heading", { name: "There is no such conversation" })).toBeVisible();
    await open("#/people/019cade2-11c0-7d85-8332-6772f572352e");
    await expect(page.getByRole("heading", { name: "This does not exist" })).toBeVisible();
    await page.getByRole("link", { name: "All people" }).click();
    await expect(page.getByRole("heading", { name: "People", level: 1 })).toBeVisible();
  });
});
