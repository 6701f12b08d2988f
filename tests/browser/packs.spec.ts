import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "./fixtures.ts";

const EXAMPLE = join(import.meta.dirname, "../../packs/construction");

test.describe("a pack", () => {
  let folder: string;
  test.beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "parlour-pack-"));
    await cp(EXAMPLE, folder, { recursive: true });
  });
  test.afterEach(() => rm(folder, { recursive: true }));

  const replace = async (file: string, from: string, to: string) => {
    const path = join(folder, file);
    await writeFile(path, (await readFile(path, "utf-8")).replace(from, to));
  };

  test.describe("with a mistake", () => {
    test.use({ expectedErrors: /status of 422/ });

    test("lists it with its file and line, and changes nothing", async ({ page, open, checkAccessibility }) => {
      await replace("teams/site-operations.yaml", "display_name:", "display_nam:");
      await open("#/settings/pack");
      await page.getByLabel("Folder of a pack").setInputFiles(folder);
      await expect(page.getByRole("alert")).toContainText("The pack has 1 mistake.");
      await expect(page.getByRole("table", { name: "Mistakes" })).toContainText("did you mean 'display_name'?");
      await checkAccessibility();
    });
  });

  test("is compared, keeps what people changed, prunes, and is undone", async ({
    page,
    open,
    operator,
    saveScreenshot,
    checkAccessibility,
  }) => {
    await operator.send("PATCH", "entities/risk/R-08", { properties: { severity: "high" } });
    await open("#/settings/pack");
    const choose = () => page.getByLabel("Folder of a pack").setInputFiles(folder);
    await choose();
    await expect(page.getByRole("heading", { name: "Nothing would change" })).toBeVisible();
    await expect(page.getByRole("button", { name: "Apply", exact: true })).toBeDisabled();

    await rm(join(folder, "documents/memos"), { recursive: true });
    await choose();
    const edits = page.getByRole("table", { name: "Changed by people only" });
    await expect(edits.getByRole("row", { name: /risk\/R-08, properties\.severity high medium/ })).toBeVisible();
    await page.getByLabel("Take the pack’s value of risk/R-08 properties.severity").check();
    await expect(page.getByRole("table", { name: "Changes" })).toContainText("risk/R-08");
    await page.getByLabel(/Delete what this pack no longer has/).check();
    await expect(page.getByRole("table", { name: "Changes" })).toContainText("Deleted");
    await saveScreenshot("pack-plan");
    await checkAccessibility();
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Apply and delete" }).click();
    await expect(page.getByText(/^Applied to /)).toBeVisible();

    await page.getByRole("button", { name: "Show what would be restored" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo the apply" }).click();
    await expect(page.getByText(/^Undone\. 2 items restored/)).toBeVisible();
    await operator.send("PATCH", "entities/risk/R-08", { properties: { severity: "medium" } });
  });
});
