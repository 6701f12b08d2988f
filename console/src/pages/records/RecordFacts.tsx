import { hasRole } from "../../api/sign_in";
import { to } from "../../shell/router";
import { clearanceName } from "../../ui/clearance";
import { Facts } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { RecordLink } from "./RecordLink";
import { isObject, labelledValues, SOURCES, valueText, type RecordType, type RecordView } from "./record_types";

const LONG_TEXT = 60;

/** The properties of a record with their labels. */
export function RecordProperties({ record, type }: { record: RecordView; type: RecordType | undefined }) {
  const values = labelledValues(record, type);
  return (
    <section class="card">
      <h2>Properties</h2>
      {values.length ? (
        <dl class="facts records-properties">
          {values.map(([label, text]) => (
            <div key={label} class={text.length > LONG_TEXT ? "records-long" : undefined}>
              <dt>{label}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <p class="soft">No values yet.</p>
      )}
    </section>
  );
}

/** When and by whom a record was created and changed, and who may see it. */
export function RecordFacts({ record }: { record: RecordView }) {
  return (
    <section class="card">
      <h2>About this record</h2>
      <Facts
        facts={[
          ["Project", record.project && <RecordLink key="project" handle={record.project} />],
          ["Visible at", clearanceName(record.classification)],
          ["Changed", <ChangedBy key="changed" at={record.updated_at} by={record.updated_by} />],
          ["Created", <ChangedBy key="created" at={record.created_at} by={record.created_by} />],
          ["Version", record.version],
        ]}
      />
      {hasRole("viewer") && (
        <p class="records-note">
          <a href={to(["insights", "changes"], { record: record.handle })}>What agents changed</a>
        </p>
      )}
    </section>
  );
}

const WHO: Record<string, string> = {
  user: "in a conversation",
  member: "by a member",
  key: "with an API key",
  operator: "by the operator",
  system: "by Parlour",
};

/** When something was changed, and by whom. */
export function ChangedBy({ at, by }: { at: string; by: string }) {
  const who = WHO[by.split(":")[0] ?? ""];
  return (
    <>
      <Time at={at} />
      {who && `, ${who}`}
    </>
  );
}

/** What an agent made the record from. */
export function RecordSources({ record }: { record: RecordView }) {
  const given = record.properties[SOURCES];
  const sources = (Array.isArray(given) ? given : []).filter(isObject).flatMap(({ title, locator, page }) => {
    if (typeof title !== "string") return [];
    const onPage = typeof page === "number" || typeof page === "string" ? `page ${page}` : "";
    return [{ title, place: [valueText(locator), onPage].filter(Boolean).join(" · ") }];
  });
  if (!sources.length) return null;
  return (
    <section class="card">
      <h2>Made from</h2>
      <ul class="records-plain">
        {sources.map(({ title, place }, index) => (
          <li key={index}>
            <b>{title}</b> {place && <span class="soft">{place}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
