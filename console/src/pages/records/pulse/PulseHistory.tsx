import { useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { CitedText } from "../../../ui/CitedText";
import { dateTime, dollars, plural } from "../../../ui/format";
import { usePages, useResource } from "../../../ui/resource";
import { Loaded, LoadMore } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { causeWords } from "./pulse_words";

type Version = Schema["PulseVersionView"];

const PAGE_SIZE = 10;

interface PulseHistoryProps {
  type: string;
  recordKey: string;
  latest: number;
}

/** The texts that a Pulse had: why each was written, and what changed between two of them. */
export function PulseHistory({ type, recordKey, latest }: PulseHistoryProps) {
  const path = { type_key: type, key: recordKey };
  const [chosen, setChosen] = useState({ before: Math.max(1, latest - 1), after: latest });
  const versions = usePages(
    async (cursor, signal) => {
      const query = { limit: PAGE_SIZE, cursor };
      const found = await body(
        api.GET("/v1/entities/{type_key}/{key}/pulse/history", { params: { path, query }, signal }),
      );
      return { items: found.versions, next_cursor: found.next_cursor };
    },
    [type, recordKey, latest],
  );
  return (
    <Loaded of={versions} rows={3}>
      {(found) => (
        <>
          {found.length > 1 && (
            <section class="records-compare">
              <h3>Compare</h3>
              <div class="filters">
                <VersionSelect
                  label="Earlier version"
                  versions={found}
                  value={chosen.before}
                  onChange={(before) => setChosen({ ...chosen, before })}
                />
                <span aria-hidden="true">→</span>
                <VersionSelect
                  label="Later version"
                  versions={found}
                  value={chosen.after}
                  onChange={(after) => setChosen({ ...chosen, after })}
                />
              </div>
              {chosen.before < chosen.after ? (
                <PulseChanges type={type} recordKey={recordKey} {...chosen} />
              ) : (
                <p class="soft">Choose an earlier version on the left.</p>
              )}
            </section>
          )}
          <section>
            <h3>{plural(found.length, "version")}</h3>
            {found.map((version) => (
              <details key={version.version} class="records-version">
                <summary>
                  Version {version.version} · <Time at={version.generated_at} />
                  {version.causes?.length ? <span class="soft"> · {causeWords(version.causes)}</span> : null}
                </summary>
                <CitedText text={version.markdown} citations={version.citations} hasSources />
                <p class="soft">
                  {version.model} · {dollars(version.cost_usd)} · {dateTime(version.generated_at)}
                </p>
              </details>
            ))}
            <LoadMore pages={versions} />
          </section>
        </>
      )}
    </Loaded>
  );
}

interface VersionSelectProps {
  label: string;
  versions: readonly Version[];
  value: number;
  onChange: (version: number) => void;
}

function VersionSelect({ label, versions, value, onChange }: VersionSelectProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(Number(event.currentTarget.value))}>
      {versions.map(({ version, generated_at }) => (
        <option key={version} value={version}>
          Version {version}, {dateTime(generated_at)}
        </option>
      ))}
    </select>
  );
}

function PulseChanges({
  type,
  recordKey,
  before,
  after,
}: Omit<PulseHistoryProps, "latest"> & { before: number; after: number }) {
  const changes = useResource(
    (signal) => {
      const params = { path: { type_key: type, key: recordKey }, query: { before, after } };
      return body(api.GET("/v1/entities/{type_key}/{key}/pulse/diff", { params, signal }));
    },
    [type, recordKey, before, after],
  );
  return (
    <Loaded of={changes} rows={2}>
      {({ added, removed, changed, unchanged }) => (
        <>
          <ul class="records-changes">
            {removed.map((text) => (
              <li key={text}>
                <del>{text}</del>
              </li>
            ))}
            {changed.map((one) => (
              <li key={one.before}>
                <del>{one.before}</del>
                <ins>{one.after}</ins>
              </li>
            ))}
            {added.map((text) => (
              <li key={text}>
                <ins>{text}</ins>
              </li>
            ))}
          </ul>
          <p class="soft">{plural(unchanged.length, "statement")} unchanged.</p>
        </>
      )}
    </Loaded>
  );
}
