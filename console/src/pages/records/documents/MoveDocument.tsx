import { useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import { Field } from "../../../ui/Field";
import { useAction, useResource } from "../../../ui/resource";
import { Loaded, Notice } from "../../../ui/states";

type Node = Schema["TreeDocumentView"];

interface MoveDocumentProps {
  document: { handle: string; title: string };
  project: string;
  onDone: () => void;
}

/** The button and the dialog that give a document another place in its project's tree. */
export function MoveDocument({ document, project, onDone }: MoveDocumentProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon="arrows" onClick={() => setOpen(true)}>
        Move
      </Button>
      {isOpen && (
        <Dialog title={`Move “${document.title}”`} onClose={() => setOpen(false)}>
          <MoveForm document={document} project={project} onDone={() => (setOpen(false), onDone())} />
        </Dialog>
      )}
    </>
  );
}

function MoveForm({ document, project, onDone }: MoveDocumentProps) {
  const tree = useResource(
    (signal) => body(api.GET("/v1/projects/{ref}/documents", { params: { path: { ref: project } }, signal })),
    [project],
  );
  const nodes = tree.data?.documents.filter(({ depth }) => depth !== null) ?? [];
  const own = nodes.find(({ handle }) => handle === document.handle);
  const [place, setPlace] = useState<{ parent: string; after: string }>();
  const parent = place?.parent ?? own?.parent ?? "";
  const siblings = nodes.filter((node) => (node.parent ?? "") === parent && node.handle !== document.handle);
  const after = place?.after ?? siblings[(own?.position ?? 0) - 1]?.handle ?? "";
  const move = useAction(async () => {
    const position = siblings.findIndex(({ handle }) => handle === after) + 1;
    const params = { path: { ref: document.handle } };
    await body(api.PUT("/v1/documents/{ref}/place", { params, body: { position, ...(parent ? { parent } : {}) } }));
    onDone();
  });
  return (
    <Loaded of={tree} rows={2}>
      {() => (
        <form class="form" onSubmit={(event) => (event.preventDefault(), move.run())}>
          <Field label="Under" problem={move.problem} name="parent">
            {(attributes) => (
              <select
                {...attributes}
                value={parent}
                onChange={(event) =>
                  setPlace({
                    parent: event.currentTarget.value,
                    after: lastChild(nodes, event.currentTarget.value, document.handle),
                  })
                }
              >
                <option value="">The top of the tree</option>
                {possibleParents(nodes, document.handle).map(({ handle, title, depth }) => (
                  <option key={handle} value={handle}>
                    {"– ".repeat(depth ?? 0)}
                    {title}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Place" problem={move.problem} name="position">
            {(attributes) => (
              <select
                {...attributes}
                value={after}
                onChange={(event) => setPlace({ parent, after: event.currentTarget.value })}
              >
                <option value="">First</option>
                {siblings.map(({ handle, title }) => (
                  <option key={handle} value={handle}>
                    After “{title}”
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Notice problem={move.problem} />
          <div class="buttons">
            <Button type="submit" kind="solid" disabled={move.isRunning}>
              Move
            </Button>
          </div>
        </form>
      )}
    </Loaded>
  );
}

function lastChild(nodes: readonly Node[], parent: string, moved: string): string {
  return nodes.findLast((node) => (node.parent ?? "") === parent && node.handle !== moved)?.handle ?? "";
}

/** Return the documents that another can be under: not itself and nothing below it. */
function possibleParents(nodes: readonly Node[], moved: string): readonly Node[] {
  const below = new Set([moved]);
  // Every parent stands before its children.
  for (const { handle, parent } of nodes) if (parent && below.has(parent)) below.add(handle);
  return nodes.filter(({ handle }) => !below.has(handle));
}
