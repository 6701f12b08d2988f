import { defineConfig } from "@playwright/test";

import { findBrowser } from "./chromium.ts";

const url = process.env.CONSOLE_URL;
if (!url) throw new Error("CONSOLE_URL is the address of the console: run `make browser`.");

const desktop = { viewport: { width: 1280, height: 800 } };
const mobile = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** Every page is opened in every project; a behaviour is tested once, at the size where it is hardest. */
const pages = "pages.spec.ts";
const atMobileSize = "chat.spec.ts";
const atBothSizes = ["approvals.spec.ts", "inbox_templates.spec.ts", "people.spec.ts"];

export default defineConfig({
  testDir: ".",
  reporter: "list",
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  use: {
    baseURL: url,
    launchOptions: await findBrowser(),
    contextOptions: { reducedMotion: "reduce" },
    locale: "en-GB",
    timezoneId: "Europe/London",
    trace: "off",
  },
  projects: [
    { name: "desktop-light", use: { ...desktop, colorScheme: "light" }, testIgnore: atMobileSize },
    {
      name: "mobile-light",
      use: { ...mobile, colorScheme: "light" },
      testMatch: [pages, atMobileSize, ...atBothSizes],
    },
    { name: "desktop-dark", use: { ...desktop, colorScheme: "dark" }, testMatch: pages },
    { name: "mobile-dark", use: { ...mobile, colorScheme: "dark" }, testMatch: pages },
  ],
});
