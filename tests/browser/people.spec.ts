import type { Page } from "@playwright/test";

import { TENANT, variable } from "./api.ts";
import { expect as expectSoon, test } from "./fixtures.ts";
import { Phone } from "./phone.ts";

/** Answers come through all functions, the first ones from a cold start. */
const expect = expectSoon.configure({ timeout: 25_000 });

const CHAT = `chat.html#/${TENANT}/site-desk`;

const replies = (page: Page, name: string) => page.getByRole("article", { name: `Reply of ${name}` });

/** Write a message as the visitor of the page, once the last reply is complete. */
async function write(page: Page, text: string): Promise<void> {
  await expect(page.locator("article[aria-busy=true]")).toHaveCount(0);
  await page.getByRole("textbox", { name: "Message to Site desk" }).fill(text);
  await page.keyboard.press("Enter");
}

test("a visitor asks for a person, is answered, handed back, and asks on", async ({
  page,
  context,
  open,
  checkAccessibility,
  saveScreenshot,
}) => {
  test.slow();
  const visitor = await context.newPage();
  await visitor.goto(`./${CHAT}`);
  const word = `gate ${Date.now().toString(36)}`;
  await write(visitor, `I stand at ${word}. May I speak to a person?`);
  await expect(replies(visitor, "Site desk")).toContainText("I have asked a colleague");

  await open("#/inbox");
  await page.getByRole("link", { name: new RegExp(word) }).click();
  await expect(page.getByRole("status").getByText("Waits for a person")).toBeVisible();
  await checkAccessibility();
  await saveScreenshot("people-waiting");
  await page.getByRole("button", { name: "Take" }).click();
  await page.getByLabel("Reply", { exact: true }).fill("Joanna here. I come to the gate in five minutes.");
  await checkAccessibility();
  await saveScreenshot("people-reply");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(replies(visitor, "Developer")).toContainText("I come to the gate in five minutes.");

  await write(visitor, "Up to which wind may we lift?");
  await expect(page.getByRole("region", { name: "Messages" })).toContainText("Up to which wind may we lift?");
  await expect(replies(visitor, "Site desk")).toHaveCount(1);
  await page.getByRole("button", { name: "Hand back" }).click();
  await page.getByLabel("Instruction").fill("They are at the gate.");
  await checkAccessibility();
  await page.getByRole("dialog").getByRole("button", { name: "Hand back" }).click();
  await expect(page.getByRole("status").getByText("The agent answers")).toBeVisible();
  await expect(replies(visitor, "Site desk").nth(1)).toContainText("9.8 m/s");
  await expect(page.getByRole("region", { name: "Messages" })).toContainText("9.8 m/s");
  await saveScreenshot("people-handed-back");

  await write(visitor, "When does the crane come?");
  await expect(replies(visitor, "Site desk").nth(2)).toContainText("crane");
  await saveScreenshot("people-visitor", visitor);
});

test("a foreman is paged once after a yes on WhatsApp, and the operator sees it", async ({
  page,
  open,
  request,
  checkAccessibility,
  saveScreenshot,
}) => {
  test.slow();
  const office = variable("CONSOLE_OFFICE");
  const pages = async () => {
    const done = (await (await request.get(`${office}/done`)).json()) as { notifications: { message: string }[] };
    return done.notifications.map(({ message }) => message);
  };
  // The office of the demo loses the first page, which another story is about.
  if (!(await pages()).length) await request.post(`${office}/notifications`, { data: { message: "A test." } });
  const phone = new Phone(request);
  const task = `clear gate ${Date.now().toString(36)}`;
  await phone.write(`Page the foreman to ${task}`);
  await expect.poll(async () => (await phone.received()).at(-1)?.text).toContain(`Message: ${task}`);
  expect((await phone.received())[0]?.buttons.map(({ title }) => title)).toEqual(["Yes", "No"]);
  expect(await pages()).not.toContain(task);
  await phone.press("Yes");
  await expect.poll(async () => (await phone.received()).at(-1)?.text).toContain("The foreman was paged under");
  expect((await pages()).filter((message) => message === task)).toHaveLength(1);

  await open("#/conversations");
  await page.getByLabel("Title, name or last digits").fill(task);
  await page.getByRole("link", { name: new RegExp(task) }).click();
  const messages = page.getByRole("region", { name: "Messages" });
  await expect(messages).toContainText(`Message: ${task}`);
  await expect(messages).toContainText("The foreman was paged under");
  await page.getByText("Approvals (1)").click();
  const card = page.getByRole("article", { name: "Notify foreman" });
  await expect(card).toContainText("Done");
  await expect(card).toContainText("Approved by the user at");
  await card.getByText("What was asked").click();
  await expect(card.getByRole("definition").first()).toHaveText(task);
  await checkAccessibility();
  await saveScreenshot("foreman-paged");
  await request.delete(`${office}/done`);
});

test("a question moves to the other desk and back in one conversation", async ({
  page,
  open,
  checkAccessibility,
  saveScreenshot,
}) => {
  test.slow();
  await open(CHAT);
  await write(page, "May I speak to the contract desk?");
  await expect(replies(page, "Site desk")).toContainText("Tobias");
  await expect(replies(page, "Contract desk")).toContainText("You are with the Contract desk now");
  await write(page, "What do we owe per day if we finish late?");
  await expect(replies(page, "Contract desk").nth(1)).toContainText("for each calendar day");
  await checkAccessibility();
  await saveScreenshot("people-desks");
  await write(page, "Please hand me back to the site desk.");
  await expect(replies(page, "Contract desk").nth(2)).toContainText("Asha");
  await expect(replies(page, "Site desk").nth(1)).toContainText("You are with the Site desk now");
  await write(page, "Up to which wind may we lift?");
  await expect(replies(page, "Site desk").nth(2)).toContainText("9.8 m/s");
  await page.reload();
  await expect(replies(page, "Contract desk")).toHaveCount(3);
  await expect(replies(page, "Contract desk").first()).toContainText("You are with the Contract desk now");
  await expect(replies(page, "Site desk").nth(2)).toContainText("9.8 m/s");
  await saveScreenshot("people-desks-back");
});
