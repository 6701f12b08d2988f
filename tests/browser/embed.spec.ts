import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import type { APIRequestContext, Page } from "@playwright/test";

import { OPERATOR_KEY } from "./api.ts";
import { expect, test } from "./fixtures.ts";

const TENANT = "embedded";
const BUTTON = "Chat with Front desk";

let foreign: Server;
let port: number;

/** A page of another host, with a policy that allows nothing but the chat. */
test.beforeAll(async ({ playwright, baseURL }) => {
  const origin = new URL(baseURL ?? "").origin;
  foreign = createServer((_request, response) => {
    response.setHeader("Content-Type", "text/html");
    response.setHeader(
      "Content-Security-Policy",
      `default-src 'none'; img-src data:; script-src ${origin}; connect-src ${origin}; frame-src ${origin}`,
    );
    response.end(
      `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,"><h1>A shop</h1>` +
        `<script src="${origin}/console/widget.js" data-binding="${TENANT}/front-desk" async></script>`,
    );
  });
  await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  port = (foreign.address() as AddressInfo).port;
  const request = await playwright.request.newContext({ baseURL: baseURL ?? "" });
  await applyPack(request);
  await request.dispose();
});

test.afterAll(() => foreign.close());

async function applyPack(request: APIRequestContext): Promise<void> {
  const files = {
    "tenant.yaml": `slug: ${TENANT}\ndisplay_name: Embedded\n`,
    "humans/ria.yaml": "display_name: Ria\n",
    "teams/desk.yaml": "display_name: Desk\n",
    "agents/desk.yaml": "display_name: Desk\ntools: [search_knowledge]\n",
    "bindings/front-desk.yaml": [
      "{display_name: Front desk, human: ria, team: desk, agent: desk, greeting: 'Hello, Ria here.', channels: {web:",
      `{host: desk.embedded.example, embed_hosts: ['widget.localhost:${port}'], face: R, colour: '#7a1f5c',`,
      "samples: [When are you open?]}}}\n",
    ].join(" "),
    "documents/hours.md": "---\ntitle: Opening hours\n---\nWe are open from 9 to 17.\n",
  };
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, "Parlour-Tenant": TENANT };
  const answer = await request.put("../v1/pack", { headers, data: { files } });
  expect(answer.ok(), await answer.text()).toBe(true);
}

const chat = (page: Page) => page.frameLocator(`iframe[title="${BUTTON}"]`);

test("a page of a listed host embeds the chat, and a visitor gets an answer and finds it again", async ({
  page,
  saveScreenshot,
}) => {
  await page.goto(`http://widget.localhost:${port}/`);
  await page.getByRole("button", { name: BUTTON }).click();
  await expect(chat(page).getByText("Hello, Ria here.")).toBeVisible();
  await saveScreenshot("embedded-chat");
  await chat(page).getByRole("button", { name: "When are you open?" }).click();
  const reply = chat(page).getByRole("article", { name: "Reply of Front desk" });
  await expect(reply).toContainText("from 9 to 17", { timeout: 20_000 });
  await saveScreenshot("embedded-chat-reply");
  await page.getByRole("button", { name: "Close the chat" }).click();
  await expect(page.locator("iframe")).toBeHidden();
  await page.reload();
  await page.getByRole("button", { name: BUTTON }).click();
  await expect(chat(page).getByText("When are you open?").first()).toBeVisible();
});

test.describe("on a host that is not listed", () => {
  test.use({ expectedErrors: /Parlour: the chat is not shown|net::ERR_|CORS|403|frame-ancestors/ });

  test("nothing is shown, and the page's console says why", async ({ page }) => {
    const lines: string[] = [];
    page.on("console", (message) => lines.push(message.text()));
    await page.goto(`http://other.localhost:${port}/`);
    await expect
      .poll(() => lines.join("\n"))
      .toContain(`the binding ${TENANT}/front-desk does not list other.localhost:${port} in embed_hosts`);
    await expect(page.getByRole("button")).toHaveCount(0);
    // The frame alone is refused by the browser itself.
    await page.evaluate(
      (source) => {
        const frame = document.createElement("iframe");
        frame.src = source;
        document.body.append(frame);
      },
      new URL(`embed.html?agent=${TENANT}/front-desk`, test.info().project.use.baseURL).href,
    );
    await expect.poll(() => lines.join("\n")).toContain("frame-ancestors");
    await expect(page.frameLocator("iframe").getByRole("button", { name: "When are you open?" })).toHaveCount(0);
  });
});

test("an agent's own host opens its chat and not the console", async ({ page, baseURL }) => {
  await page.route("**/console/settings.json", async (route) => {
    const headers = { ...route.request().headers(), host: "desk.embedded.example" };
    const settings = await route.fetch({ headers });
    await route.fulfill({ response: settings });
  });
  await page.goto(baseURL ?? "");
  await expect(page).toHaveURL(/chat\.html$/);
  await expect(page.getByRole("heading", { name: "Talk to Front desk" })).toBeVisible();
});
