import type { APIRequestContext } from "@playwright/test";

import { OPERATOR_KEY, type Schema } from "./api.ts";
import { expect, test } from "./fixtures.ts";

const TENANT = `packed-${Date.now()}`;
const HEADERS = { Authorization: `Bearer ${OPERATOR_KEY}`, "Parlour-Tenant": TENANT };
const FILES = {
  "tenant.yaml": `slug: ${TENANT}\ndisplay_name: Packed\n`,
  "humans/ria.yaml": "display_name: Ria\n",
  "documents/hours.md": "---\ntitle: Opening hours\n---\nWe are open from 9 to 17.\n",
};
const RECORDS = {
  "entity_types/site.yaml": "display_name: Site\nproperties:\n  area: {type: number}\n",
  "entities/site.yaml": "- {key: S-1, name: North yard, properties: {area: 1}}\n",
};

async function send<Body>(request: APIRequestContext, method: string, path: string, data: object): Promise<Body> {
  const answer = await request.fetch(`../v1/${path}`, { method, headers: HEADERS, data });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()) as Body;
}

test("an admin sees what a pack brought, deletes what left it, and undoes that", async ({
  page,
  request,
  signInWithKey,
  open,
  checkAccessibility,
  saveScreenshot,
}) => {
  await send(request, "PUT", "pack", { files: { ...FILES, ...RECORDS } });
  const key = { name: "test", roles: ["admin"], clearance: 3, scopes: [] };
  const admin = await send<Schema["CreatedKeyView"]>(request, "POST", "keys", key);
  await send(request, "PUT", "pack", { files: FILES });
  await signInWithKey(admin.key);
  await expect(page.getByRole("button", { name: "Sign in with the key" })).toHaveCount(0);
  await open("#/settings/pack");
  await expect(page.getByRole("table", { name: "Applies of the pack" })).toContainText("Operator");
  await expect(page.getByText("Everything is as the pack says.")).toBeVisible();
  const left = page.getByRole("table", { name: "Left the pack" });
  await expect(left.getByRole("row", { name: "site/S-1" })).toContainText("Is deleted");
  await expect(left.getByRole("row", { name: "entity_type/site" })).toContainText("Stays: it has records");
  await checkAccessibility();
  await saveScreenshot("pack-left");

  await page.getByRole("button", { name: "Delete 1 item" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("site/S-1");
  await checkAccessibility();
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(left.getByRole("row", { name: "site/S-1" })).toHaveCount(0);

  await page.getByRole("button", { name: "Show what would be restored" }).click();
  await dialog.getByRole("button", { name: "Undo the apply" }).click();
  await expect(left.getByRole("row", { name: "site/S-1" })).toContainText("Is deleted");

  await send(request, "PATCH", "entities/site/S-1", { properties: { area: 9 } });
  await send(request, "PUT", "pack", { files: { ...FILES, ...RECORDS } });
  await open("#/settings/pack");
  await expect(page.getByRole("table", { name: "Changed by people" })).toContainText("site/S-1");
  await expect(page.getByRole("table", { name: "Changed by people" })).toContainText("Area");
});
