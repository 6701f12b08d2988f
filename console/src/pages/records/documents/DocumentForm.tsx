import { useEffect, useRef, useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { Problem, toProblem } from "../../../api/problem";
import { api } from "../../../api/sign_in";
import { guardUnsaved } from "../../../shell/router";
import { Button } from "../../../ui/Button";
import { Field } from "../../../ui/Field";
import { Scrollable } from "../../../ui/Scrollable";
import { useAction } from "../../../ui/resource";
import { Notice } from "../../../ui/states";
import { useUnsavedGuard } from "../RecordForm";

export const MAX_CONTENT_CHARS = 200_000;

interface DocumentFormProps {
  document: Schema["DocumentTextView"];
  onSaved: () => void;
  onCancel: () => void;
}

/** The form of a document's text. If somebody else saved it meanwhile, their text is shown beside what was typed. */
export function DocumentForm({ document, onSaved, onCancel }: DocumentFormProps) {
  const [content, setContent] = useState(document.content);
  const [version, setVersion] = useState(document.version);
  const [theirs, setTheirs] = useState<string | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const path = { ref: document.handle };
  useUnsavedGuard(content !== document.content);
  useEffect(() => box.current?.focus(), []);
  const save = useAction(async () => {
    if (content === document.content && theirs === null) return onCancel();
    try {
      await body(api.PATCH("/v1/documents/{ref}", { params: { path }, body: { content, version } }));
      guardUnsaved(null);
      onSaved();
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status === 404)
        throw new Problem(
          404,
          problem.code,
          "This document was deleted meanwhile. Your text is still here; copy what you need.",
        );
      if (problem.status !== 409) throw problem;
      const now = await body(api.GET("/v1/documents/{ref}", { params: { path } }));
      setVersion(now.version);
      setTheirs(now.content);
    }
    return undefined;
  });
  return (
    <form
      class="card form"
      aria-label={`Text of ${document.title}`}
      onSubmit={(event) => (event.preventDefault(), save.run())}
    >
      <Field
        label="Text"
        hint="Markdown: # headings, **bold**, - lists, | tables |."
        problem={save.problem}
        name="content"
      >
        {(attributes) => (
          <textarea
            {...attributes}
            ref={box}
            class="records-editor"
            rows={22}
            maxLength={MAX_CONTENT_CHARS}
            value={content}
            onInput={(event) => setContent(event.currentTarget.value)}
          />
        )}
      </Field>
      {theirs !== null && (
        <>
          <p class="notice info" role="alert">
            Someone else saved this text meanwhile (version {version}). Your text is above, theirs is below. Save again
            to keep yours.
          </p>
          <section class="records-theirs" aria-label="The text that someone else saved">
            <h3>Their text</h3>
            <Scrollable label="Their text" class="records-prompt">
              {theirs}
            </Scrollable>
            <Button onClick={() => setContent(theirs)}>Take their text</Button>
          </section>
        </>
      )}
      <Notice problem={save.problem} />
      <div class="buttons">
        <Button type="submit" kind="solid" disabled={save.isRunning}>
          Save
        </Button>
        <Button onClick={() => (guardUnsaved(null), onCancel())}>Cancel</Button>
      </div>
    </form>
  );
}
