import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { ConfirmButton } from "../../ui/Dialog";
import { count, sentenceCase } from "../../ui/format";
import { useResource } from "../../ui/resource";
import { Loaded } from "../../ui/states";
import { Table } from "../../ui/Table";

type QueueName = Schema["RedriveRequest"]["queue"];

const REDRIVABLE: ReadonlySet<string> = new Set<QueueName>([
  "intake",
  "turns-messaging",
  "turns-web",
  "tools",
  "outbox",
  "ingest",
]);

/** The dead letters of the deployment's queues, for its operator. */
export function Queues() {
  const queues = useResource((signal) => body(api.GET("/v1/operations/dead-letters", { signal })), []);
  const redrive = async (queue: QueueName) => {
    await body(api.POST("/v1/operations/redrive", { body: { queue, limit: 300 } }));
    queues.reload();
  };
  return (
    <>
      <p class="soft">
        Messages that a queue gave up on, of all tenants. A redrive moves them back; fix the cause first.
      </p>
      <Loaded of={queues}>
        {({ dead_letters }) => (
          <Table
            caption="Dead letters by queue"
            rows={Object.entries(dead_letters)}
            rowKey={([name]) => name}
            columns={[
              { label: "Queue", cell: ([name]) => sentenceCase(name) },
              { label: "Dead letters", cell: ([, letters]) => count(letters), isNumber: true },
              {
                label: "Action",
                cell: ([name, letters]) =>
                  letters > 0 &&
                  REDRIVABLE.has(name) && (
                    <ConfirmButton
                      kind="quiet"
                      label="Redrive"
                      title={`Redrive ${count(letters)} messages?`}
                      confirmLabel="Redrive"
                      work={() => redrive(name as QueueName)}
                    >
                      <p>The messages are processed again. Work that was done is not repeated.</p>
                    </ConfirmButton>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}
