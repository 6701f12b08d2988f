import { useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { navigate, to } from "../../../shell/router";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import { useAction, useResource } from "../../../ui/resource";
import { Loaded, Notice } from "../../../ui/states";
import { erasureWords } from "./erasure_words";

/** The way to erase a person with everything that they left. */
export function ErasePerson({ userId, name }: { userId: string; name: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <p class="soft">
        Deletes their conversations, what is remembered of them and everything derived from it. You first see how much
        that is.
      </p>
      <Button icon="trash" onClick={() => setOpen(true)}>
        Erase this person
      </Button>
      {isOpen && <EraseDialog userId={userId} name={name} onClose={() => setOpen(false)} />}
    </>
  );
}

/** First a dry run, whose counts are the question. Then the erasure, and its report. */
function EraseDialog({ userId, name, onClose }: { userId: string; name: string; onClose: () => void }) {
  const [keepsRecords, setKeepsRecords] = useState(false);
  const [report, setReport] = useState<Schema["ErasureReportView"]>();
  const request = { kind: "user", id: userId, keep_records: keepsRecords } as const;
  const plan = useResource(
    (signal) => body(api.POST("/v1/erasures", { body: { ...request, dry_run: true }, signal })),
    [userId, keepsRecords],
  );
  const erase = useAction(async () =>
    setReport(await body(api.POST("/v1/erasures", { body: { ...request, dry_run: false } }))),
  );
  if (report) return <ReportDialog report={report} onContinue={erase.run} isRunning={erase.isRunning} />;
  return (
    <Dialog title={`Erase ${name}?`} onClose={onClose}>
      <Loaded of={plan} rows={2}>
        {(found) => <ReportLines report={found} />}
      </Loaded>
      <label class="check">
        <input
          type="checkbox"
          checked={keepsRecords}
          onChange={(event) => setKeepsRecords(event.currentTarget.checked)}
        />
        Keep the records that their conversations created or changed
      </label>
      <p>
        <b>This cannot be undone.</b>
      </p>
      <Notice problem={erase.problem} />
      <div class="buttons">
        <Button kind="danger" disabled={!plan.data || plan.isLoading || erase.isRunning} onClick={() => erase.run()}>
          {erase.isRunning ? "Erasing …" : "Erase for good"}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </Dialog>
  );
}

function ReportLines({ report }: { report: Schema["ErasureReportView"] }) {
  const lines = erasureWords(report);
  const reasons = [...new Set(report.rows.filter(({ reason }) => reason).map(({ reason }) => reason))];
  return (
    <>
      <ul>
        {lines.length ? lines.map((line) => <li key={line}>{line}</li>) : <li>Nothing is stored of this person.</li>}
        {report.object_keys.length > 0 && <li>Stored files deleted: {report.object_keys.length}.</li>}
      </ul>
      {reasons.length > 0 && <p class="soft">Kept because: {reasons.join("; ")}.</p>}
      {report.out_of_reach.length > 0 && (
        <details>
          <summary>What Parlour cannot erase</summary>
          <ul>
            {report.out_of_reach.map((one) => (
              <li key={one.where}>
                {one.where}: {one.explanation}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

interface ReportProps {
  report: Schema["ErasureReportView"];
  onContinue: () => void;
  isRunning: boolean;
}

function ReportDialog({ report, onContinue, isRunning }: ReportProps) {
  const leave = () => navigate(to(["people"]));
  return (
    <Dialog title={report.finished ? "Erased" : "The erasure is not finished"} onClose={leave}>
      <ReportLines report={report} />
      {!report.finished && <p>There was more than one request can delete. Continue until it is finished.</p>}
      <div class="buttons">
        {report.finished ? (
          <Button kind="solid" onClick={leave}>
            Back to people
          </Button>
        ) : (
          <Button kind="danger" disabled={isRunning} onClick={onContinue}>
            Continue
          </Button>
        )}
      </div>
    </Dialog>
  );
}
