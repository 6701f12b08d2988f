import { useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { ConfirmButton } from "../../../ui/Dialog";

interface UndoTurnProps {
  turnId: string;
  onUndone: () => void;
}

/** The way for editors to undo what a turn changed in records, and what could not be undone. */
export function UndoTurn({ turnId, onUndone }: UndoTurnProps) {
  const [left, setLeft] = useState<readonly Schema["UndoneWriteView"][]>([]);
  if (!hasRole("editor")) return <p class="soft">An editor can undo this.</p>;
  const undo = async () => {
    const params = { path: { turn_id: turnId } };
    const { writes } = await body(api.POST("/v1/turns/{turn_id}/undo", { params }));
    setLeft(writes.filter(({ outcome }) => outcome !== "undone"));
    onUndone();
  };
  return (
    <>
      {left.map((write) => (
        <p key={write.handle} class="notice" role="alert">
          {write.handle} was not undone: {write.outcome}.
        </p>
      ))}
      <ConfirmButton kind="quiet" label="Undo" title="Undo what this turn changed?" confirmLabel="Undo" work={undo}>
        <p>
          All records that the turn changed get back what they had before. What somebody changed since stays as it is.
          The reply that was sent is not taken back.
        </p>
      </ConfirmButton>
    </>
  );
}
