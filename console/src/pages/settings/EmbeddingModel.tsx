import { useState } from "preact/hooks";
import { body } from "../../api/client";
import { toProblem } from "../../api/problem";
import { api, hasRole } from "../../api/sign_in";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { count, dateTime } from "../../ui/format";
import { useAction, useResource } from "../../ui/resource";
import { Loaded, Notice } from "../../ui/states";
import { Facts } from "../../ui/Table";

/** The move of all texts to another embedding model: its progress, and how to start one. */
export function EmbeddingModel() {
  const move = useResource(async (signal) => {
    try {
      return await body(api.GET("/v1/reembedding", { signal }));
    } catch (error) {
      if (toProblem(error).status === 404) return null;
      throw error;
    }
  }, []);
  const [model, setModel] = useState("");
  const start = useAction(async () => {
    await body(api.POST("/v1/reembedding", { body: { model } }));
    setModel("");
    move.reload();
  });
  return (
    <>
      <section class="card">
        <h2>Last move to another model</h2>
        <Loaded of={move} rows={2}>
          {(found) =>
            found ? (
              <>
                <Facts
                  facts={[
                    ["Model", found.space],
                    ["Texts", `${count(found.done)} of ${count(found.total)}`],
                    ["Started", dateTime(found.started_at)],
                    ["Finished", found.finished_at ? dateTime(found.finished_at) : "running"],
                  ]}
                />
                <progress
                  class="settings-progress"
                  max={Math.max(1, found.total)}
                  value={found.done}
                  aria-label="Progress"
                />
              </>
            ) : (
              <p class="soft">This tenant uses the deployment’s model. It never moved to another one.</p>
            )
          }
        </Loaded>
      </section>
      {hasRole("admin") && (
        <section class="card">
          <h2>Move to another model</h2>
          <form class="form" onSubmit={(event) => (event.preventDefault(), start.run())}>
            <Field
              label="Model"
              hint="A model that the deployment names. Searches use the old one until all texts have moved."
              name="model"
              problem={start.problem}
            >
              {(attributes) => (
                <input
                  {...attributes}
                  value={model}
                  required
                  onInput={(event) => setModel(event.currentTarget.value)}
                />
              )}
            </Field>
            <Notice problem={start.problem} />
            <div class="buttons">
              <Button kind="solid" type="submit" disabled={start.isRunning}>
                Start
              </Button>
              {move.data && !move.data.finished_at && (
                <Button icon="refresh" onClick={move.reload}>
                  Update
                </Button>
              )}
            </div>
          </form>
        </section>
      )}
    </>
  );
}
