import { join } from "node:path";

import { AxeBuilder } from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";

export { expect };

const SCREENSHOTS = join(import.meta.dirname, "../../.parlour/browser/screenshots");
const BLOCKING = ["critical", "serious", "moderate"];

interface Options {
  /** Errors that a test provokes, such as the browser's line about an answer with status 404. */
  expectedErrors: RegExp[];
}

interface Fixtures {
  /** Fails the test on any error of the page or its console that is not expected. */
  noErrors: undefined;
  /** Check the page as it is now with axe. */
  checkAccessibility: () => Promise<void>;
  /** Save the page as it is now as NAME.PROJECT.png. */
  saveScreenshot: (name: string) => Promise<void>;
}

export const test = base.extend<Options & Fixtures>({
  expectedErrors: [[], { option: true }],

  noErrors: [
    async ({ context, expectedErrors }, use) => {
      const errors: string[] = [];
      context.on("console", (message) => {
        if (message.type() === "error") errors.push(`${message.text()} (${message.location().url})`);
      });
      context.on("weberror", (problem) => errors.push(problem.error().stack ?? problem.error().message));
      await use(undefined);
      expect(errors.filter((error) => !expectedErrors.some((expected) => expected.test(error)))).toEqual([]);
    },
    { auto: true },
  ],

  checkAccessibility: async ({ page }, use) => {
    await use(async () => expect(await violations(page)).toEqual([]));
  },

  saveScreenshot: async ({ page }, use, testInfo) => {
    await use(async (name) => {
      await page.screenshot({ path: join(SCREENSHOTS, `${name}.${testInfo.project.name}.png`) });
    });
  },
});

async function violations(page: Page): Promise<string[]> {
  const found = await new AxeBuilder({ page }).analyze();
  return found.violations
    .filter((violation) => BLOCKING.includes(violation.impact ?? ""))
    .map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.html).join(" ")}`);
}
