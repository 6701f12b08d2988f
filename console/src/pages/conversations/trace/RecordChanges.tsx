import { body, type Schema } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { toRecord } from "../../../shell/router";
import { Badge } from "../../../ui/Badge";
import { plural, sentenceCase } from "../../../ui/format";
import { useResource } from "../../../ui/resource";
import { Notice } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { CHANGE_VERBS, changedValue } from "./change_words";
import { TracePart } from "./TracePart";
import { UndoTurn } from "./UndoTurn";

type Change = Schema["TurnChangeView"];

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
  const onUndone = () => {
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
      {open.length > 0 && <UndoTurn turnId={turnId} onUndone={onUndone} />}
    </TracePart>
  );
}

function ChangeLine({ change }: { change: Change }) {
  const { action, record, other, relation, properties, undone_at: undone, is_deleted: isDeleted } = change;
  return (
    <>
      <p>
        {CHANGE_VERBS[action]} {isDeleted ? <b>{record.name}</b> : <a href={toRecord(record.handle)}>{record.name}</a>}
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
          <span class="soft">{sentenceCase(one.property)}:</span> <del>{changedValue(one.property, one.before)}</del>{" "}
          <ins>{changedValue(one.property, one.after)}</ins>
        </p>
      ))}
    </>
  );
}
