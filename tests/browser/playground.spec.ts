import { expect, test } from "./fixtures.ts";

test("the phone writes to the binding that one chooses, with its own questions", async ({
  page,
  checkAccessibility,
  saveScreenshot,
}) => {
  await page.goto("#/playground");
  const phone = page.getByRole("region", { name: "Simulated phone" });
  await phone.getByLabel("Your phone number").fill(`+447700${String(Date.now()).slice(-6)}`); // nobody's so far
  await phone.getByLabel("Your phone number").press("Enter");
  await phone.getByLabel("Write to").selectOption("Site desk");
  await expect(phone.getByRole("heading", { name: "Asha" })).toBeVisible();
  await expect(phone.getByRole("button", { name: "When does the crane come?" })).toBeVisible();

  await phone.getByLabel("Write to").selectOption("Contract desk");
  await expect(phone.getByRole("heading", { name: "Tobias" })).toBeVisible();
  await phone.getByRole("button", { name: "What is our liability limited to?" }).click();
  const messages = phone.getByRole("log", { name: "Messages on the phone" });
  await expect(messages).toContainText("£2,430,000", { timeout: 25_000 });
  await checkAccessibility();
  await saveScreenshot("playground-phone");

  await phone.getByLabel("Write to").selectOption("Site desk");
  await expect(messages).not.toContainText("£2,430,000");
});
