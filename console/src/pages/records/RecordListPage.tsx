import { useContext } from "preact/hooks";
import { body } from "../../api/client";
import { api, hasRole } from "../../api/sign_in";
import { setQuery, to, toRecord, type Route } from "../../shell/router";
import { Badge } from "../../ui/Badge";
import { Button, LinkButton } from "../../ui/Button";
import { plural } from "../../ui/format";
import { Page } from "../../ui/Page";
import { useAction, usePages } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore, Notice } from "../../ui/states";
import { Time } from "../../ui/Time";
import { FilterText } from "./FilterText";
import { RecordPicker } from "./RecordPicker";
import { labelledValues, RecordTypes, useRecordType, type RecordView } from "./record_types";
import { SectionTabs } from "./SectionTabs";
import { TypeSign } from "./TypeSign";

const PAGE_SIZE = 30;
const SHOWN_VALUES = 5;

/** The tenant's records, the last changed first, with the filters of the address. */
export function RecordListPage({ route }: { route: Route }) {
  const types = useContext(RecordTypes);
  const type = route.query.get("type") ?? "";
  const filters = {
    type,
    text: route.query.get("text") ?? "",
    project: route.query.get("project") ?? "",
    ...(route.query.get("unverified") ? { unverified: true } : {}),
  };
  const pages = usePages(
    async (cursor, signal) => {
      const query = { ...filters, cursor, limit: PAGE_SIZE };
      const { entities, next_cursor } = await body(api.GET("/v1/entities", { params: { query }, signal }));
      return { items: entities, next_cursor };
    },
    [type, filters.text, filters.project, filters.unverified],
  );
  const typeName = types.find(({ key }) => key === type)?.name ?? "record";
  const isFiltered = Boolean(filters.text || filters.project || filters.unverified);
  return (
    <Page
      title="Records"
      actions={
        hasRole("editor") && (
          <LinkButton kind="solid" icon="plus" href={to(["new"], { type, project: filters.project })}>
            New {typeName.toLowerCase()}
          </LinkButton>
        )
      }
    >
      <SectionTabs current="records" />
      <div class="filters">
        <select aria-label="Type" value={type} onChange={(event) => setQuery({ type: event.currentTarget.value })}>
          <option value="">All types</option>
          {types.map(({ key, name }) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
        <FilterText label="Filter by name or key" value={filters.text} />
        <RecordPicker
          label="Project"
          type="project"
          placeholder="Any project"
          handle={filters.project}
          onChoose={(project) => setQuery({ project })}
        />
        <label class="check records-filter-check">
          <input
            type="checkbox"
            checked={Boolean(filters.unverified)}
            onChange={(event) => setQuery({ unverified: event.currentTarget.checked ? "true" : "" })}
          />
          Not accepted yet
        </label>
      </div>
      <Loaded of={pages} rows={8}>
        {(records) =>
          records.length ? (
            <section aria-label="Records" aria-busy={pages.isLoading}>
              <p class="soft records-count" role="status">
                {pages.hasMore
                  ? `The ${plural(records.length, "record")} changed last`
                  : plural(records.length, "record")}
              </p>
              <ul class="records-list">
                {records.map((record) => (
                  <RecordRow key={record.id} record={record} onChange={pages.reload} />
                ))}
              </ul>
              <LoadMore pages={pages} />
            </section>
          ) : (
            <EmptyState icon="folder" title={isFiltered ? "No record matches" : `No ${typeName.toLowerCase()} yet`}>
              <p>
                {isFiltered
                  ? "Change or clear the filters."
                  : "Packs, the API, agents and people create records. Packs’ documents are listed under Documents."}
              </p>
              {isFiltered && (
                <Button onClick={() => setQuery({ text: "", project: "", unverified: "" })}>Clear the filters</Button>
              )}
            </EmptyState>
          )
        }
      </Loaded>
    </Page>
  );
}

function RecordRow({ record, onChange }: { record: RecordView; onChange: () => void }) {
  const type = useRecordType(record.type);
  const values = labelledValues(record, type).slice(0, SHOWN_VALUES);
  return (
    <li class="records-row">
      <TypeSign type={record.type} icon={type?.icon} colour={type?.colour} />
      <div>
        <p class="records-row-name">
          <a href={toRecord(record.handle)}>{record.name}</a>
          <span class="soft">
            {record.type_name} · {record.key}
          </span>
          {record.unverified_by && <Badge tone="warning">Not accepted</Badge>}
        </p>
        {values.length > 0 && (
          <dl class="records-values">
            {values.map(([label, text]) => (
              <div key={label}>
                <dt>{label}</dt> <dd>{text}</dd>
              </div>
            ))}
          </dl>
        )}
        {record.unverified_by && <AcceptRecord record={record} onChange={onChange} />}
      </div>
      <Time at={record.updated_at} />
    </li>
  );
}

/** What an unaccepted record is, and the button that accepts it. */
export function AcceptRecord({ record, onChange }: { record: RecordView; onChange: () => void }) {
  const accept = useAction(async () => {
    await body(api.POST("/v1/entities/{record_id}/accept", { params: { path: { record_id: record.id } } }));
    onChange();
  });
  return (
    <>
      <p class="records-accept">
        <span class="soft">Created in a conversation. Others see it after an editor accepts it.</span>
        {hasRole("editor") && (
          <Button icon="check" disabled={accept.isRunning} onClick={() => accept.run()}>
            Accept
          </Button>
        )}
      </p>
      <Notice problem={accept.problem} />
    </>
  );
}
