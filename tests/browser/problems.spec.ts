import type { Schema } from "./api.ts";
import { edit, expect, test } from "./fixtures.ts";

/** What a page says for each refusal of the API. */
const REFUSALS: [number, string][] = [
  [403, "You may not see this"],
  [404, "This does not exist"],
  [409, "This changed meanwhile"],
  [429, "Too many requests"],
  [500, "Parlour cannot answer now"],
  [503, "Parlour cannot answer now"],
];

/** Addresses that somebody may have typed, and what is said there. */
const WRONG_ADDRESSES: [string, string | RegExp][] = [
  ["#/nothing/at/all", "There is no such page"],
  ["#/conversations/nothing", "There is no such conversation"],
  ["#/conversations/019cade2-11c0-7d85-8332-6772f572352e", "This does not exist"],
  ["#/conversations/019cade2-11c0-7d85-8332-6772f572352e/prompt/nothing", "There is no such conversation"],
  ["#/people/nothing", "There is no such person"],
  ["#/records/risk/NOTHING", "This does not exist"],
  ["#/records/nothing/at/all", "This does not exist"],
  ["#/records/document/nothing.md", "This does not exist"],
  ["#/records?type=nothing", "Couldn’t load this"],
  ["#/files/nothing", "This does not exist"],
  ["#/agents/nobody", "This does not exist"],
  ["#/settings/nothing", "There is no such part of the settings"],
  ["#/search?q=%E0%A4%A", /Results for|Nothing found/],
  ["#/costs?days=many", "Costs"],
];

test.describe("the API refuses or cannot be reached", () => {
  test.use({ expectedErrors: /status of \d{3}|net::ERR_/ });

  test("each refusal says what happened, and trying again helps", async ({ page, open, saveScreenshot }) => {
    await open("#/inbox");
    for (const [status, title] of REFUSALS) {
      const error: Schema["ErrorBody"] = { error: { code: "refused", message: "A reason of the API." } };
      await page.route("**/v1/costs?*", (route) => route.fulfill({ status, json: error }), { times: 1 });
      await page.goto("./#/costs");
      await expect(page.getByRole("heading", { name: title })).toBeVisible();
      await expect(page.getByText("A reason of the API.")).toBeVisible();
      await saveScreenshot(`refusal-${status}`);
      await page.getByRole("button", { name: "Try again" }).click();
      await expect(page.getByRole("heading", { name: "By purpose" })).toBeVisible();
      await page.goto("./#/inbox");
    }
  });

  test("without a connection the page stays, and trying again helps", async ({ page, context, open }) => {
    await open("#/conversations");
    await expect(page.getByRole("table")).toBeVisible();
    await context.setOffline(true);
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect(page.getByRole("alert")).toContainText("does not answer");
    await expect(page.getByRole("table")).toBeVisible();
    await context.setOffline(false);
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect(page.getByRole("alert")).toHaveCount(0);
  });

  test("a server that does not answer is named, and what was typed is there when it answers again", async ({
    page,
    context,
    open,
    saveScreenshot,
  }) => {
    await open("#/playground");
    const field = page.getByLabel(/^Message to/);
    await field.fill("A question that took long to write.");
    await context.setOffline(true);
    await page.getByRole("link", { name: "Costs" }).click();
    await expect(page.getByRole("heading", { name: "The server cannot be reached" })).toBeVisible();
    await expect(page.getByRole("alert")).toContainText("Nothing that you typed is lost");
    await saveScreenshot("unreachable");
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(page.getByRole("heading", { name: "The server cannot be reached" })).toBeVisible();
    await context.setOffline(false);
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(page.getByRole("heading", { name: "By purpose" })).toBeVisible();
    await page.getByRole("link", { name: "Playground" }).click();
    await expect(field).toHaveValue("A question that took long to write.");
  });

  test("a page that is opened without a server says so, and starts by itself when asked again", async ({
    page,
    open,
  }) => {
    await page.route("**/console/settings.json", (route) => route.abort());
    await open("#/inbox");
    await expect(page.getByRole("heading", { name: "The server cannot be reached" })).toBeVisible();
    await page.unroute("**/console/settings.json");
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(page.getByRole("heading", { name: "Inbox", level: 1 })).toBeVisible();
  });

  test("wrong addresses say so", async ({ page, open }) => {
    await open("#/inbox");
    for (const [address, words] of WRONG_ADDRESSES) {
      await page.goto(`./${address}`);
      await expect(page.getByRole("heading", { name: words }).first(), address).toBeVisible();
    }
  });
});

test.describe("two people change a record", () => {
  test.use({ expectedErrors: /status of 40[49]/ });

  test("both changes are kept, and where they meet the reader decides", async ({
    page,
    context,
    open,
    operator,
    saveScreenshot,
  }) => {
    const risk = await operator.createRisk(`Conflict ${Date.now()}`);
    await open(`#/records/risk/${risk.key}`);
    await edit(page);
    await page.getByLabel("Response").fill("My answer, which took long to write.");

    const second = await context.newPage();
    await second.goto(`./#/records/risk/${risk.key}`);
    await edit(second);
    await second.getByLabel("Response").fill("The answer of a colleague.");
    await second.getByLabel("Owner *").fill("Marta Lindgren");
    await second.getByRole("button", { name: "Save" }).click();
    await expect(second.getByText("The answer of a colleague.").first()).toBeVisible();

    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("alert")).toContainText("Someone else saved this record meanwhile");
    await expect(page.getByLabel("Response")).toHaveValue("My answer, which took long to write.");
    await expect(page.getByText("Saved by someone else: The answer of a colleague.")).toBeVisible();
    await expect(page.getByLabel("Owner *")).toHaveValue("Marta Lindgren");
    await saveScreenshot("record-conflict");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { name: "Properties" })).toBeVisible();
    const kept = await operator.get<Schema["RecordView"]>(`entities/risk/${risk.key}`);
    expect(kept.properties).toMatchObject({
      owner: "Marta Lindgren",
      response: "My answer, which took long to write.",
    });
  });

  test("a record that was deleted meanwhile leaves the text to copy", async ({ page, open, operator }) => {
    const risk = await operator.createRisk(`Deleted ${Date.now()}`);
    await open(`#/records/risk/${risk.key}`);
    await edit(page);
    await page.getByLabel("Response").fill("A text that nobody wants to lose.");
    await operator.send("DELETE", `entities/risk/${risk.key}?version=${risk.version}`);
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("alert")).toContainText("This record was deleted meanwhile");
    await expect(page.getByLabel("Response")).toHaveValue("A text that nobody wants to lose.");
    let leaves = false;
    page.on("dialog", (dialog) => (leaves ? dialog.accept() : dialog.dismiss()));
    await page.getByRole("link", { name: "Costs" }).click();
    await expect(page.getByLabel("Response")).toHaveValue("A text that nobody wants to lose.");
    leaves = true;
    await page.getByRole("link", { name: "Costs" }).click();
    await expect(page.getByRole("heading", { name: "Costs" })).toBeVisible();
  });
});
