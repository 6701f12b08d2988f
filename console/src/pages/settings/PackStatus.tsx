import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { ConfirmButton } from "../../ui/Dialog";
import { count, sentenceCase } from "../../ui/format";
import { useResource } from "../../ui/resource";
import { EmptyState, Loaded } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Time } from "../../ui/Time";

type Status = Schema["PackStatusView"];

/** Items that a question lists by name; the rest is counted. */
const NAMED = 20;

/** What packs brought: the last applies, what people changed since, and what left the pack. */
export function PackStatus() {
  const status = useResource((signal) => body(api.GET("/v1/pack/status", { signal })), []);
  return (
    <Loaded of={status}>
      {(found) => (
        <>
          <p class="soft">
            The pack is the folder that <code>parlour apply</code> sends. What people change here stays when it is
            applied again.
          </p>
          <Applies of={found} />
          <Edits of={found} />
          <LeftPack of={found} onDone={status.reload} />
        </>
      )}
    </Loaded>
  );
}

function Applies({ of }: { of: Status }) {
  return (
    <section class="card">
      <h2>Applied</h2>
      {of.applies.length === 0 ? (
        <EmptyState icon="archive" title="No apply can be undone">
          <p>The last ten applies that changed something are listed here.</p>
        </EmptyState>
      ) : (
        <>
          <p class="soft">
            {count(of.item_count)} items are in the pack. An undo takes back the newest of these applies.
          </p>
          <Table
            caption="Applies of the pack"
            rows={of.applies}
            rowKey={(apply) => apply.applied_at}
            columns={[
              { label: "When", cell: (apply) => <Time at={apply.applied_at} /> },
              { label: "Who", cell: (apply) => sentenceCase(apply.applied_by) },
              { label: "Changed items", cell: (apply) => count(apply.changed_items), isNumber: true },
            ]}
          />
        </>
      )}
    </section>
  );
}

function Edits({ of: { edits } }: { of: Status }) {
  return (
    <section class="card">
      <h2>Changed by people since</h2>
      {edits.length === 0 ? (
        <p class="soft">Everything is as the pack says.</p>
      ) : (
        <>
          <p class="soft">
            The next apply keeps these values. Where the pack changes the same value, it reports a conflict and keeps
            it, too. To replace an item: <code>parlour apply --take-item ITEM</code>.
          </p>
          <Table
            caption="Changed by people"
            rows={edits}
            rowKey={(edit) => edit.item}
            columns={[
              { label: "Item", cell: (edit) => edit.item },
              {
                label: "Changed",
                cell: (edit) =>
                  edit.fields.length ? edit.fields.map((field) => fieldName(field)).join(", ") : "Deleted",
              },
            ]}
          />
        </>
      )}
    </section>
  );
}

function LeftPack({ of: { deletable, not_deletable: stays }, onDone }: { of: Status; onDone: () => void }) {
  const work = async () => {
    await body(api.POST("/v1/pack/prune", { body: { dry_run: false } }));
    onDone();
  };
  const rows = [...deletable.map((item) => ({ item, reason: "" })), ...stays];
  return (
    <section class="card">
      <h2>Left the pack</h2>
      {rows.length === 0 ? (
        <p class="soft">Everything that packs brought is in the last applied pack.</p>
      ) : (
        <>
          <p class="soft">An earlier pack brought these items, and the last one does not have them.</p>
          <Table
            caption="Left the pack"
            rows={rows}
            rowKey={(row) => row.item}
            columns={[
              { label: "Item", cell: (row) => row.item },
              {
                label: "When deleting",
                cell: (row) => (row.reason ? `Stays: ${row.reason.split(";")[0]}` : "Is deleted"),
              },
            ]}
          />
          {deletable.length > 0 && (
            <div class="buttons settings-actions">
              <ConfirmButton
                label={`Delete ${deletable.length === 1 ? "1 item" : `${count(deletable.length)} items`}`}
                title="Delete what left the pack?"
                confirmLabel="Delete"
                work={work}
              >
                <p>
                  These will be deleted. “Undo the last apply” brings them back, but not what people attached to them.
                </p>
                <ItemList items={deletable} />
              </ConfirmButton>
            </div>
          )}
        </>
      )}
    </section>
  );
}

function ItemList({ items }: { items: readonly string[] }) {
  return (
    <ul>
      {items.slice(0, NAMED).map((item) => (
        <li key={item}>{item}</li>
      ))}
      {items.length > NAMED && <li>and {count(items.length - NAMED)} more</li>}
    </ul>
  );
}

/** "properties.due_date" -> "Due date": the value's own name. */
function fieldName(field: string): string {
  return sentenceCase((field.split(".").at(-1) ?? field).replaceAll("_", " "));
}
