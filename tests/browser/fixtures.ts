import { join } from "node:path";

import { test as base, expect, type Page } from "@playwright/test";
import axe from "axe-core";

import { Operator, type Schema } from "./api.ts";

export { expect };

const SCREENSHOTS = join(import.meta.dirname, "../../.parlour/browser/screenshots");
const BLOCKING = ["critical", "serious", "moderate"];

interface Options {
  /** Errors that a test provokes, such as the browser's line about an answer with status 404. */
  expectedErrors: RegExp | null;
}

interface Fixtures {
  /** Fails the test on any error of the page or its console that is not expected. */
  noErrors: undefined;
  /** Open an address of the console (`#/records`) as for the first time. */
  open: (address: string) => Promise<void>;
  /** Return what axe finds on the page as it is now, what is wider than the window, and what is too small to touch. */
  findProblems: () => Promise<string[]>;
  /** Check that there is no such problem. */
  checkAccessibility: () => Promise<void>;
  /** Save the page, or another one, as it is now as NAME.PROJECT.png. */
  saveScreenshot: (name: string, shown?: Page) => Promise<void>;
  /** Let the console ask for a sign-in, as everywhere but on a laptop. */
  leaveLaptop: () => Promise<void>;
  /** Sign in with an API key. */
  signInWithKey: (key: string) => Promise<void>;
  operator: Operator;
}

export const test = base.extend<Options & Fixtures>({
  expectedErrors: [null, { option: true }],

  noErrors: [
    async ({ context, expectedErrors }, use) => {
      const errors: string[] = [];
      context.on("console", (message) => {
        if (message.type() === "error") errors.push(`${message.text()} (${message.location().url})`);
      });
      context.on("weberror", (problem) => errors.push(problem.error().stack ?? problem.error().message));
      await use(undefined);
      expect(errors.filter((error) => !expectedErrors?.test(error))).toEqual([]);
    },
    { auto: true },
  ],

  operator: async ({ request }, use) => use(new Operator(request)),

  open: async ({ page }, use) => {
    await use(async (address) => {
      await page.goto("about:blank");
      await page.goto(`./${address}`);
    });
  },

  leaveLaptop: async ({ page }, use) => {
    await use(async () => {
      await page.route("**/console/settings.json", async (route) => {
        const settings = (await (await route.fetch()).json()) as Schema["ConsoleSettingsView"];
        await route.fulfill({ json: { ...settings, local: false } });
      });
    });
  },

  signInWithKey: async ({ page, open, leaveLaptop }, use) => {
    await use(async (key) => {
      await leaveLaptop();
      await open("");
      await page.getByLabel("API key or member token").fill(key);
      await page.getByRole("button", { name: "Sign in with the key" }).click();
    });
  },

  findProblems: async ({ page }, use, { project }) => {
    await use(async () => [
      ...(await violations(page)),
      ...(await page.evaluate(layoutProblems, project.use.hasTouch ?? false)),
    ]);
  },

  checkAccessibility: async ({ findProblems }, use) => {
    await use(async () => expect(await findProblems()).toEqual([]));
  },

  saveScreenshot: async ({ page }, use, testInfo) => {
    await use(async (name, shown = page) => {
      await shown.screenshot({ path: join(SCREENSHOTS, `${name}.${testInfo.project.name}.png`) });
    });
  },
});

/** Open the form of a record. It takes the focus, so that what is typed before goes to its first field. */
export async function edit(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await expect(page.getByLabel("Name *")).toBeFocused();
}

/** Run axe in the page. Its script is loaded once for each document. */
async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ["violations"] }),
  );
  return found
    .filter((violation) => BLOCKING.includes(violation.impact ?? ""))
    .map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.html).join(" ")}`);
}

/** Return what is wider than the window, or too small for a finger. Runs in the page. */
function layoutProblems(isTouched: boolean): string[] {
  const problems: string[] = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    const wide = [...document.querySelectorAll("body *")].filter(
      (one) => one.getBoundingClientRect().right > width + 1,
    );
    problems.push(
      `wider than the window: ${wide
        .map((one) => one.outerHTML.slice(0, 80))
        .slice(-3)
        .join(" … ")}`,
    );
  }
  const navigation = document.querySelector(".navigation")?.getBoundingClientRect();
  for (const one of document.querySelectorAll(".navigation *")) {
    const isOver = navigation && one.getBoundingClientRect().right > navigation.right + 1;
    if (isOver) problems.push(`over the page: ${one.outerHTML.slice(0, 120)}`);
  }
  if (!isTouched) return problems;
  for (const one of document.querySelectorAll<HTMLElement>(
    "button, select, a.button, summary, nav a, input, textarea",
  )) {
    const isInSentence = one.matches("p:not(.buttons) > *");
    if (!one.checkVisibility({ visibilityProperty: true }) || isInSentence) continue;
    const heights = [one, one.closest("label") ?? one].map((target) => target.getBoundingClientRect().height);
    const height = Math.round(Math.max(...heights));
    if (height > 2 && height < 44) problems.push(`${height} pixels to touch: ${one.outerHTML.slice(0, 120)}`);
  }
  return problems;
}
