import { useEffect, useRef, useState } from "preact/hooks";
import { body } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { Button } from "../../../ui/Button";
import { CitedText } from "../../../ui/CitedText";
import { clearanceName } from "../../../ui/clearance";
import { Dialog } from "../../../ui/Dialog";
import { plural } from "../../../ui/format";
import { useAction } from "../../../ui/resource";
import { ErrorState, Notice, Skeleton } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { PulseHistory } from "./PulseHistory";
import { PulsePrompt } from "./PulsePrompt";
import { PulseQuestion } from "./PulseQuestion";
import { causeWords, problemWords, WAITS } from "./pulse_words";
import { usePulse, type RecordPulse } from "./use_pulse";

/** How long a refresh is awaited, and the pause between two looks. */
const REFRESH_MS = { most: 60_000, pause: 1_500 };

/** The Pulse of a record: a cited summary that is written again when its sources change. */
export function Pulse({ type, recordKey }: { type: string; recordKey: string }) {
  const { found, problem, read } = usePulse(type, recordKey);
  const [dialog, setDialog] = useState<"history" | "prompt" | null>(null);
  const [message, setMessage] = useState("");
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => void (isShown.current = false);
  }, []);
  const refresh = useAction(async () => {
    const before = found ?? (await read());
    setMessage("Checking the sources …");
    try {
      const path = { type_key: type, key: recordKey };
      await body(api.POST("/v1/entities/{type_key}/{key}/pulse/refresh", { params: { path } }));
      const until = Date.now() + REFRESH_MS.most;
      while (isShown.current && Date.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, REFRESH_MS.pause));
        const outcome = outcomeOf(before, await read());
        if (outcome) return setMessage(outcome);
      }
      setMessage("It is still being checked. A new text appears here by itself.");
    } catch (error) {
      setMessage("");
      throw error;
    }
    return undefined;
  });
  return (
    <section class="card records-pulse" aria-labelledby="records-pulse-title">
      <header class="records-card-head">
        <h2 id="records-pulse-title">Pulse</h2>
        <Button
          icon="refresh"
          disabled={refresh.isRunning || !found}
          aria-busy={refresh.isRunning}
          onClick={() => refresh.run()}
        >
          Refresh
        </Button>
      </header>
      {found ? (
        <PulseText found={found} />
      ) : problem ? (
        <ErrorState problem={problem} reload={() => void read().catch(() => undefined)} />
      ) : (
        <Skeleton rows={3} />
      )}
      <Notice problem={refresh.problem ?? (found && problem)} />
      <div class="buttons">
        {found?.pulse && <Button onClick={() => setDialog("history")}>Versions</Button>}
        {found?.pulse && hasRole("viewer") && <Button onClick={() => setDialog("prompt")}>How it was written</Button>}
        <p class="records-message" role="status">
          {message}
        </p>
      </div>
      <PulseQuestion type={type} recordKey={recordKey} />
      {dialog === "history" && found?.pulse && (
        <Dialog title="Versions of the Pulse" isWide onClose={() => setDialog(null)}>
          <PulseHistory type={type} recordKey={recordKey} latest={found.pulse.version} />
        </Dialog>
      )}
      {dialog === "prompt" && found?.pulse && (
        <Dialog title={`How version ${found.pulse.version} was written`} isWide onClose={() => setDialog(null)}>
          <PulsePrompt type={type} recordKey={recordKey} version={found.pulse.version} />
        </Dialog>
      )}
    </section>
  );
}

/** The text, when it was written and for whom; why it is stale, and what it waits for. */
function PulseText({ found }: { found: RecordPulse }) {
  const { pulse, stale_since: stale, causes, changes_text: changes, waiting_for: waits, problem, failures } = found;
  const why = causeWords(causes);
  return (
    <>
      {pulse ? (
        <CitedText text={pulse.markdown} citations={pulse.citations} hasSources />
      ) : (
        <p class="soft">
          {found.is_withheld
            ? "One of its sources was restricted. The Pulse is hidden until it is written again."
            : "No Pulse yet. It is written from what is known about the record."}
        </p>
      )}
      {pulse && (
        <p class="soft records-pulse-state">
          Version {pulse.version}, written <Time at={pulse.generated_at} /> · checked <Time at={pulse.checked_at} /> ·
          visible at: {clearanceName(pulse.level)}
        </p>
      )}
      {stale && (
        <div class="records-stale">
          <p>
            {pulse ? "Out of date" : "Due"} since <Time at={stale} />
            {why && `: ${why}`}.
          </p>
          {changes && <p>{changes}</p>}
        </div>
      )}
      {waits && <p class="soft">{WAITS[waits]}</p>}
      {problem && (
        <p class="notice">
          {failures === 1 ? "The last attempt failed" : `The last ${plural(failures, "attempt")} failed`}:{" "}
          {problemWords(problem)}.{found.is_given_up && " It is tried once a day until somebody refreshes it."}
        </p>
      )}
    </>
  );
}

/** Return the result of a refresh in words; "" while it runs. */
function outcomeOf(before: RecordPulse, after: RecordPulse): string {
  if (after.pulse && after.pulse.version !== before.pulse?.version)
    return `Version ${after.pulse.version} was written now.`;
  if (after.pulse && after.pulse.checked_at !== before.pulse?.checked_at)
    return "Checked now. Nothing changed, so the text stays.";
  if (after.problem && after.problem_at !== before.problem_at) return "The refresh failed.";
  if (after.waiting_for === "budget") return WAITS.budget;
  return "";
}
