import { useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { Problem } from "../../../api/problem";
import { api } from "../../../api/sign_in";
import { Button } from "../../../ui/Button";
import { Field } from "../../../ui/Field";
import { useAction, useResource } from "../../../ui/resource";
import { Loaded, Notice } from "../../../ui/states";
import { RecordPicker } from "../RecordPicker";
import type { RecordView } from "../record_types";

interface LinkFormProps {
  record: RecordView;
  onDone: () => void;
  onCancel: () => void;
}

/** The form of a new link: the relation as it reads from this record, and the other record. */
export function LinkForm({ record, onDone, onCancel }: LinkFormProps) {
  const relations = useResource((signal) => body(api.GET("/v1/relations", { signal })), []);
  const [chosen, setChosen] = useState("relates to");
  const [other, setOther] = useState("");
  const ways = waysOf(relations.data?.relations ?? []);
  const link = useAction(async () => {
    const way = ways.find(({ reads }) => reads === chosen) ?? ways[0];
    if (!way) return;
    if (!other) throw new Problem(422, "incomplete", "Choose the other record from the list.");
    const [source, target] = way.isOutgoing ? [record.handle, other] : [other, record.handle];
    await body(api.POST("/v1/links", { body: { source, target, relation: way.name } }));
    onDone();
  });
  return (
    <Loaded of={relations} rows={2}>
      {() => (
        <form
          class="form records-link-form"
          aria-label="New link"
          onSubmit={(event) => (event.preventDefault(), link.run())}
        >
          <p>“{record.name}” …</p>
          <div class="records-fields">
            <Field label="Relation">
              {(attributes) => (
                <select {...attributes} value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
                  {ways.map(({ reads }) => (
                    <option key={reads}>{reads}</option>
                  ))}
                </select>
              )}
            </Field>
            <Field label="Record">
              {(attributes) => <RecordPicker {...attributes} handle={other} onChoose={setOther} />}
            </Field>
          </div>
          <Notice problem={link.problem} />
          <div class="buttons">
            <Button type="submit" kind="solid" disabled={link.isRunning}>
              Link
            </Button>
            <Button onClick={onCancel}>Cancel</Button>
          </div>
        </form>
      )}
    </Loaded>
  );
}

/** Return every relation from both of its ends. What reads the same from both, or under two names, is offered once. */
function waysOf(relations: readonly Schema["RelationView"][]) {
  const ways = relations.flatMap(({ name, outgoing, incoming }) => [
    { name, reads: outgoing, isOutgoing: true },
    { name, reads: incoming, isOutgoing: false },
  ]);
  return ways.filter(({ reads }, index) => ways.findIndex((way) => way.reads === reads) === index);
}
