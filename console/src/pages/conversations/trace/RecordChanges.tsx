import { useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { toRecord } from "../../../shell/router";
import { Badge } from "../../../ui/Badge";
import { ConfirmButton } from "../../../ui/Dialog";
import { plural, sentenceCase } from "../../../ui/format";
import { useResource } from "../../../ui/resource";
import { Notice } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { TracePart } from "./TracePart";

type Change = Schema["TurnChangeView"];

const ACTIONS = { create: "Created", update: "Changed", link: "Linked", unlink: "Unlinked" } as const;
const LEVELS = ["Public", "Internal", "Confidential", "Restricted"];

interface ChangesProps {
  turnId: string;
  /** Changes when the turn has to be read again. */
  round: string | null;
  onChanged?: () => void;
}

/** What a turn changed in records, and the way to undo it. Nothing is shown for a turn that changed nothing. */
export function RecordChanges({ turnId, round, onChanged }: ChangesProps) {
  const path = { turn_id: turnId };
  const changes = useResource(
    async (signal) => (await body(api.GET("/v1/turns/{turn_id}/changes", { params: { path }, signal }))).changes,
    [turnId, round],
  );
  const [left, setLeft] = useState<readonly Schema["UndoneWriteView"][]>([]);
  const undo = async () => {
    const { writes } = await body(api.POST("/v1/turns/{turn_id}/undo", { params: { path } }));
    setLeft(writes.filter(({ outcome }) => outcome !== "undone"));
    changes.reload();
    onChanged?.();
  };
  if (changes.problem) return <Notice problem={changes.problem} />;
  if (!changes.data?.length) return null;
  const open = changes.data.filter(({ undone_at: undone }) => undone === null);
  return (
    <TracePart title="Changed records" aside={plural(changes.data.length, "change")}>
      <ul class="trace-changes">
        {changes.data.map((change, index) => (
          <li key={index}>
            <ChangeLine change={change} />
          </li>
        ))}
      </ul>
      {left.map((write) => (
        <p key={write.handle} class="notice" role="alert">
          {write.handle} was not undone: {write.outcome}.
        </p>
      ))}
      {open.length > 0 && hasRole("editor") && (
        <ConfirmButton
          label="Undo"
          title="Undo what this turn changed?"
          confirmLabel={`Undo ${plural(open.length, "change")}`}
          work={undo}
        >
          <p>
            The records get back what they had before the turn. What somebody changed since stays as it is. The reply
            that was sent is not taken back.
          </p>
        </ConfirmButton>
      )}
      {open.length > 0 && !hasRole("editor") && <p class="soft">An editor can undo this.</p>}
    </TracePart>
  );
}

function ChangeLine({ change }: { change: Change }) {
  const { action, record, other, relation, properties, undone_at: undone, is_deleted: isDeleted } = change;
  return (
    <>
      <p>
        {ACTIONS[action]} {isDeleted ? <b>{record.name}</b> : <a href={toRecord(record.handle)}>{record.name}</a>}
        {other && (
          <>
            {" "}
            ({sentenceCase(relation).toLowerCase()}) <a href={toRecord(other.handle)}>{other.name}</a>
          </>
        )}{" "}
        {undone && (
          <Badge>
            Undone <Time at={undone} />
          </Badge>
        )}
        {isDeleted && !undone && <Badge>Deleted since</Badge>}
      </p>
      {properties.map((one) => (
        <p key={one.property} class="trace-property">
          <span class="soft">{sentenceCase(one.property)}:</span> <del>{shown(one.property, one.before)}</del>{" "}
          <ins>{shown(one.property, one.after)}</ins>
        </p>
      ))}
    </>
  );
}

/** A value of a record in words. */
function shown(property: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return "nothing";
  if (property === "classification" && typeof value === "number") return LEVELS[value] ?? String(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}
