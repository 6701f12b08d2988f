import type { Locator, Page } from "@playwright/test";

import { ask } from "./api.ts";
import { changes } from "./changes.ts";
import { expect, test } from "./fixtures.ts";

/** An operator who starts in the inbox. A choice in a list is two clicks: open and choose. */
class Clicks {
  count = 0;

  constructor(readonly page: Page) {}

  async press(target: Locator): Promise<void> {
    this.count += 1;
    await target.click();
  }

  async choose(list: Locator, option: string): Promise<void> {
    this.count += 2;
    await list.selectOption(option);
  }

  section(name: string): Promise<void> {
    return this.press(this.page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name }));
  }

  button(name: string | RegExp): Promise<void> {
    return this.press(this.page.getByRole("button", { name }).first());
  }

  /** Press the button that confirms in the dialog. */
  confirm(name: string): Promise<void> {
    return this.press(this.page.getByRole("dialog").getByRole("button", { name }));
  }
}

const table: string[] = [];

/** Test a task of an operator, and that it takes no more clicks. */
function task(question: string, most: number, work: (clicks: Clicks, word: string) => Promise<void>): void {
  test(question, async ({ page, request, open }) => {
    const { word } = await ask(request, "How wide is the crack at C4?");
    await open("#/inbox");
    await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
    const clicks = new Clicks(page);
    await work(clicks, word);
    table.push(`${String(clicks.count).padStart(6)}  ${question}`);
    expect(clicks.count).toBeLessThanOrEqual(most);
  });
}

test.describe("an operator finds out", () => {
  test.afterAll(() => console.log(["Clicks  Task", ...table].join("\n")));

  task("Why did it say this?", 2, async (clicks, word) => {
    await clicks.section("Conversations");
    await clicks.press(clicks.page.getByRole("link", { name: new RegExp(word) }));
    await expect(clicks.page.getByRole("heading", { name: "Sources that the reply cites" })).toBeVisible();
    await expect(clicks.page.getByText("Search knowledge")).toBeVisible();
  });

  task("What did last week cost, and why?", 1, async (clicks) => {
    await clicks.section("Costs");
    await expect(clicks.page.getByText("All model calls: last 7 days")).toBeVisible();
    for (const title of ["By agent", "By purpose", "By model"]) {
      await expect(clicks.page.getByRole("heading", { name: title })).toBeVisible();
    }
  });

  task("Undo yesterday’s change", 3, async (clicks) => {
    const { page } = clicks;
    // The offline model changes no records, so that the change is made up.
    await page.route("**/v1/changes?*", (route) => route.fulfill({ json: changes(isUndone) }));
    let isUndone = false;
    await page.route("**/v1/turns/*/undo", (route) => {
      isUndone = true;
      return route.fulfill({ json: { writes: [] } });
    });
    await clicks.section("Insights");
    await clicks.button("Undo");
    await clicks.confirm("Undo");
    await expect(page.getByText("Undone")).toBeVisible();
  });

  task("Which conversations failed today?", 2, async (clicks) => {
    await clicks.section("Conversations");
    await clicks.press(clicks.page.getByRole("link", { name: "Failed today" }));
    await expect(clicks.page.getByText(/No conversation matches|Failed/).last()).toBeVisible();
    await expect(clicks.page).toHaveURL(/state=failed&period=today/);
  });

  task("Who is waiting for me?", 0, async (clicks) => {
    await expect(clicks.page.getByText(/waits? for a person/).first()).toBeVisible();
  });

  task("Stop all model calls", 3, async (clicks) => {
    await clicks.section("Costs");
    await clicks.button("Switch model calls off");
    await clicks.confirm("Switch off");
    await expect(clicks.page.getByRole("status")).toContainText("Model calls are switched off");
    const stopped = clicks.count;
    await clicks.button("Switch model calls on");
    await clicks.confirm("Switch on");
    await expect(clicks.page.getByRole("button", { name: "Switch model calls off" })).toBeVisible();
    clicks.count = stopped;
  });

  task("What does it remember of this person?", 3, async (clicks, word) => {
    await clicks.section("Conversations");
    await clicks.press(clicks.page.getByRole("link", { name: new RegExp(word) }));
    await clicks.press(clicks.page.locator(".page-title").getByRole("link").first());
    await expect(clicks.page.getByRole("heading", { name: "What is remembered" })).toBeVisible();
  });

  task("Find the clause behind this answer", 3, async (clicks, word) => {
    await clicks.section("Conversations");
    await clicks.press(clicks.page.getByRole("link", { name: new RegExp(word) }));
    await clicks.press(clicks.page.getByRole("link", { name: /^Source 1/ }).first());
    await expect(clicks.page.locator(".records-cited").first()).toBeInViewport();
  });

  task("What changed in this record?", 5, async (clicks) => {
    const { page } = clicks;
    await page.route("**/v1/changes?*record=*", (route) => route.fulfill({ json: changes(false) }));
    await clicks.section("Records");
    await clicks.choose(page.getByLabel("Type"), "Risk");
    await clicks.press(page.locator(".records-row").getByRole("link").first());
    await clicks.press(page.getByRole("link", { name: "What agents changed" }));
    await expect(page.getByRole("insertion")).toHaveText("closed");
  });

  test("Revoke a key", async ({ page, operator, open }) => {
    const name = `Lost ${Date.now()}`;
    await operator.createKey(name, ["viewer"]);
    await open("#/inbox");
    const clicks = new Clicks(page);
    await clicks.section("Settings");
    await clicks.press(page.getByRole("link", { name: "API keys" }));
    const row = page.getByRole("row").filter({ hasText: name });
    await clicks.press(row.getByRole("button", { name: "Revoke" }));
    await clicks.confirm("Revoke");
    await expect(row).toContainText("Revoked");
    table.push(`${String(clicks.count).padStart(6)}  Revoke a key`);
    expect(clicks.count).toBeLessThanOrEqual(4);
  });
});
