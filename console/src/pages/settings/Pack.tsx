import { useRef, useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import type { Problem } from "../../api/problem";
import { api } from "../../api/sign_in";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { plural, sentenceCase } from "../../ui/format";
import { useAction } from "../../ui/resource";
import { Notice } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { PackStatus } from "./PackStatus";
import { readPackFolder } from "./pack_folder";

type Applied = Schema["PackAppliedView"];
type Difference = Schema["PackDifferenceView"];
type Undone = Schema["PackUndoneView"];
type Files = Record<string, string>;

const TONES = { created: "good", changed: "neutral", deleted: "bad", switched_off: "warning" } as const;

/** The tenant's configuration as a pack: compare a folder with the tenant, apply it, undo that. */
export function Pack() {
  const [files, setFiles] = useState<Files | null>(null);
  const [plan, setPlan] = useState<Applied | null>(null);
  const [isPruning, setPruning] = useState(false);
  const [taken, setTaken] = useState<ReadonlySet<string>>(new Set());
  const [message, setMessage] = useState("");
  /** Counts what was written, so that the status is read again. */
  const [written, setWritten] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const send = (pack: Files, prune: boolean, take: ReadonlySet<string>, dryRun: boolean) => {
    const decisions = [...take].map((key) => {
      const [item, field] = JSON.parse(key) as [string, string | null];
      return { item, field, choice: "take" as const };
    });
    return body(api.PUT("/v1/pack", { body: { files: pack, prune, decisions, dry_run: dryRun, conflicts: "keep" } }));
  };
  const compare = useAction(async (pack: Files, prune: boolean, take: ReadonlySet<string>) => {
    setPlan(await send(pack, prune, take, true));
    setMessage("");
  });
  const choose = useAction(async (chosen: FileList) => {
    setPlan(null);
    const pack = await readPackFolder(chosen);
    setFiles(pack);
    setPruning(false);
    setTaken(new Set());
    compare.run(pack, false, new Set());
  });
  const apply = useAction(async () => {
    if (!files) return;
    const done = await send(files, isPruning, taken, false);
    setPlan(null);
    setFiles(null);
    setWritten(written + 1);
    setMessage(`Applied to ${done.tenant}. You can undo it below until the next pack is applied.`);
  });
  const decide = (prune: boolean, take: ReadonlySet<string>) => {
    setPruning(prune);
    setTaken(take);
    if (files) compare.run(files, prune, take);
  };
  const problem = choose.problem ?? compare.problem ?? apply.problem;
  return (
    <>
      <section class="card">
        <h2>Compare and apply a pack</h2>
        <p class="soft">
          Choose the folder of a pack. Nothing is written before you have seen what would change. What people changed
          here stays, unless you take the pack’s value.
        </p>
        <div class="buttons settings-actions">
          <Button icon="folder" disabled={choose.isRunning} onClick={() => input.current?.click()}>
            Choose a folder …
          </Button>
          <input
            ref={input}
            hidden
            type="file"
            aria-label="Folder of a pack"
            onChange={({ currentTarget }) => {
              if (currentTarget.files?.length) choose.run(currentTarget.files);
            }}
            onClick={({ currentTarget }) => (currentTarget.value = "")}
            {...{ webkitdirectory: true }}
          />
        </div>
        <Notice problem={problem?.fields.length ? undefined : problem} />
        {problem && problem.fields.length > 0 && <Mistakes problem={problem} />}
        <p role="status">{message}</p>
        {plan && (
          <Plan
            plan={plan}
            isPruning={isPruning}
            taken={taken}
            isBusy={compare.isRunning || apply.isRunning}
            decide={decide}
            apply={() => apply.run()}
          />
        )}
      </section>
      <UndoCard onDone={() => setWritten(written + 1)} />
      <PackStatus key={written} />
    </>
  );
}

/** The mistakes of a pack, each with its file and line. */
function Mistakes({ problem }: { problem: Problem }) {
  return (
    <div role="alert">
      <p class="notice">
        The pack has {plural(problem.fields.length, "mistake")}. Correct the files, then choose the folder again.
        Nothing was changed.
      </p>
      <Table
        caption="Mistakes"
        rows={problem.fields}
        rowKey={(one) => `${one.file} ${one.line} ${one.field} ${one.message}`}
        columns={[
          { label: "File", cell: (one) => (one.line ? `${one.file}, line ${one.line}` : one.file) },
          { label: "Field", cell: (one) => one.field },
          { label: "What is wrong", cell: (one) => one.message },
        ]}
      />
    </div>
  );
}

interface PlanProps {
  plan: Applied;
  isPruning: boolean;
  taken: ReadonlySet<string>;
  isBusy: boolean;
  decide: (prune: boolean, taken: ReadonlySet<string>) => void;
  apply: () => void;
}

/** What an apply would change, with a choice for each value that people changed and for what left the pack. */
function Plan({ plan, isPruning, taken, isBusy, decide, apply }: PlanProps) {
  const [isAsking, setAsking] = useState(false);
  const deleted = plan.changes.filter(({ action }) => action === "deleted");
  const toggle = (one: Difference) => {
    const key = JSON.stringify([one.item, one.field]);
    const next = new Set(taken);
    if (!next.delete(key)) next.add(key);
    decide(isPruning, next);
  };
  return (
    <div class="settings-plan">
      <h3>{plan.changed ? plural(plan.changes.length, "change") : "Nothing would change"}</h3>
      {plan.changes.length > 0 && <Changes changes={plan.changes} caption="Changes" />}
      {plan.conflicts.length > 0 && (
        <Differences title="Changed by people and by the pack" rows={plan.conflicts} taken={taken} toggle={toggle} />
      )}
      {plan.edits.length > 0 && (
        <Differences title="Changed by people only" rows={plan.edits} taken={taken} toggle={toggle} />
      )}
      {(plan.not_in_pack.length > 0 || isPruning) && (
        <label class="check">
          <input type="checkbox" checked={isPruning} disabled={isBusy} onChange={() => decide(!isPruning, taken)} />
          Delete what this pack no longer has
          {plan.not_in_pack.length > 0 && `: ${plan.not_in_pack.join(", ")}`}
        </label>
      )}
      {plan.warnings.map((warning) => (
        <p key={warning} class="notice">
          {warning}
        </p>
      ))}
      {plan.not_deleted.map((one) => (
        <p key={one.item} class="soft">
          {one.item} stays: {one.reason}.
        </p>
      ))}
      <div class="buttons settings-actions">
        <Button
          kind="solid"
          disabled={isBusy || !plan.changed}
          onClick={() => (deleted.length > 0 ? setAsking(true) : apply())}
        >
          Apply
        </Button>
      </div>
      {isAsking && (
        <Dialog title={`Delete ${plural(deleted.length, "item")}?`} onClose={() => setAsking(false)}>
          <p>The pack is applied, and these are deleted:</p>
          <ul>
            {deleted.map(({ item }) => (
              <li key={item}>{item}</li>
            ))}
          </ul>
          <div class="buttons">
            <Button kind="danger" disabled={isBusy} onClick={() => (setAsking(false), apply())}>
              Apply and delete
            </Button>
            <Button onClick={() => setAsking(false)}>Cancel</Button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

function Changes({ changes, caption }: { changes: Applied["changes"]; caption: string }) {
  return (
    <Table
      caption={caption}
      rows={changes}
      rowKey={(one) => one.item}
      columns={[
        { label: "Item", cell: (one) => one.item },
        { label: "Change", cell: (one) => <Badge tone={TONES[one.action]}>{sentenceCase(one.action)}</Badge> },
        {
          label: "Fields",
          cell: (one) => (one.action === "changed" ? one.fields.join(", ") : ""),
          isSecondary: true,
        },
      ]}
    />
  );
}

interface DifferencesProps {
  title: string;
  rows: readonly Difference[];
  taken: ReadonlySet<string>;
  toggle: (one: Difference) => void;
}

function Differences({ title, rows, taken, toggle }: DifferencesProps) {
  return (
    <>
      <h3>{title}</h3>
      <Table
        caption={title}
        rows={rows}
        rowKey={(one) => `${one.item} ${one.field ?? ""}`}
        columns={[
          { label: "Value", cell: (one) => (one.field ? `${one.item}, ${one.field}` : one.item) },
          { label: "Now", cell: (one) => shown(one.withheld ? "withheld" : one.current_value, one.field) },
          { label: "In the pack", cell: (one) => shown(one.pack_value, one.field) },
          {
            label: "Take the pack’s",
            cell: (one) => (
              <input
                type="checkbox"
                aria-label={`Take the pack’s value of ${one.item} ${one.field ?? ""}`.trim()}
                checked={taken.has(JSON.stringify([one.item, one.field]))}
                onChange={() => toggle(one)}
              />
            ),
          },
        ]}
      />
    </>
  );
}

function shown(value: unknown, field: string | null): string {
  if (value === null || value === undefined) return field === null ? "deleted" : "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Undo the last apply, after a look at what would be restored. */
function UndoCard({ onDone }: { onDone: () => void }) {
  const [plan, setPlan] = useState<Undone | null>(null);
  const [message, setMessage] = useState("");
  const look = useAction(async () => {
    setMessage("");
    setPlan(await body(api.POST("/v1/pack/undo", { body: { dry_run: true } })));
  });
  const undo = useAction(async () => {
    const done = await body(api.POST("/v1/pack/undo", { body: { dry_run: false } }));
    setPlan(null);
    onDone();
    setMessage(`Undone. ${plural(done.restored.length, "item")} restored.`);
  });
  return (
    <section class="card">
      <h2>Undo the last apply</h2>
      <p class="soft">Each value that is still as the apply wrote it gets its earlier value.</p>
      <div class="buttons settings-actions">
        <Button icon="undo" disabled={look.isRunning} onClick={() => look.run()}>
          Show what would be restored
        </Button>
      </div>
      <Notice problem={look.problem} />
      <p role="status">{message}</p>
      {plan && (
        <Dialog title="Undo this apply?" isWide onClose={() => setPlan(null)}>
          <p>
            Applied <Time at={plan.applied_at} /> by {plan.applied_by}.
          </p>
          {plan.restored.length > 0 ? (
            <Changes changes={plan.restored} caption="What is restored" />
          ) : (
            <p>Nothing can be restored: everything was changed since.</p>
          )}
          {plan.not_restored.map((one) => (
            <p key={`${one.item} ${one.field ?? ""}`} class="soft">
              {one.field ? `${one.item}, ${one.field}` : one.item} stays: {one.reason}.
            </p>
          ))}
          <Notice problem={undo.problem} />
          <div class="buttons">
            <Button kind="danger" disabled={undo.isRunning || plan.restored.length === 0} onClick={() => undo.run()}>
              Undo the apply
            </Button>
            <Button onClick={() => setPlan(null)}>Cancel</Button>
          </div>
        </Dialog>
      )}
    </section>
  );
}
