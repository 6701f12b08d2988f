import { useContext, useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { toRecord } from "../../../shell/router";
import { Badge } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { ConfirmButton } from "../../../ui/Dialog";
import { count } from "../../../ui/format";
import { usePages } from "../../../ui/resource";
import { Loaded, LoadMore } from "../../../ui/states";
import { RecordTypes, valueText, type RecordView } from "../record_types";
import { TypeSign } from "../TypeSign";
import { LinkForm } from "./LinkForm";

type Linked = Schema["LinkedRecordView"];

const PAGE_SIZE = 50;

/** What a record is linked to, by type; editors link and unlink. */
export function Links({ record }: { record: RecordView }) {
  const [isLinking, setLinking] = useState(false);
  const path = { type_key: record.type, key: record.key };
  const [types, setTypes] = useState<readonly Schema["LinkedTypeView"][]>([]);
  const links = usePages(
    async (cursor, signal) => {
      const params = { path, query: { cursor, limit: PAGE_SIZE } };
      const found = await body(api.GET("/v1/entities/{type_key}/{key}/links", { params, signal }));
      setTypes(found.types);
      return { items: found.links, next_cursor: found.next_cursor };
    },
    [record.handle],
  );
  const isEditor = hasRole("editor");
  return (
    <section class="card records-links">
      <header class="records-card-head">
        <h2>Links</h2>
        {isEditor && !isLinking && (
          <Button icon="link" onClick={() => setLinking(true)}>
            Link a record
          </Button>
        )}
      </header>
      {isLinking && (
        <LinkForm
          record={record}
          onDone={() => (setLinking(false), links.reload())}
          onCancel={() => setLinking(false)}
        />
      )}
      <Loaded of={links} rows={3}>
        {(shown) =>
          shown.length ? (
            <>
              {types.map(({ type, name, total }) => (
                <Group
                  key={type}
                  record={record}
                  type={type}
                  name={name}
                  total={total}
                  links={shown.filter((link) => link.type === type)}
                  onChange={links.reload}
                />
              ))}
              <LoadMore pages={links} />
            </>
          ) : (
            <p class="soft">No links yet.</p>
          )
        }
      </Loaded>
    </section>
  );
}

interface GroupProps {
  record: RecordView;
  type: string;
  name: string;
  total: number;
  links: readonly Linked[];
  onChange: () => void;
}

function Group({ record, type, name, total, links, onChange }: GroupProps) {
  const definition = useContext(RecordTypes).find(({ key }) => key === type);
  if (!links.length) return null;
  return (
    <>
      <h3>
        {name} <span class="soft">{count(total)}</span>
      </h3>
      <ul class="records-linked">
        {links.map((link) => (
          <li key={link.handle}>
            <TypeSign type={type} icon={definition?.icon} colour={definition?.colour} />
            <div>
              <a href={toRecord(link.handle)}>{link.name}</a> {link.is_context && <Badge>Context document</Badge>}
              <p class="soft">
                {[
                  link.relations.map(({ reads }) => reads).join(", "),
                  link.state,
                  link.due && `due ${valueText(link.due)}`,
                ]
                  .filter(Boolean)
                  .join(" · ")}
              </p>
            </div>
            {hasRole("editor") &&
              link.relations.map((relation) => (
                <Unlink
                  key={relation.relation + relation.direction}
                  record={record}
                  link={link}
                  relation={relation}
                  onChange={onChange}
                />
              ))}
          </li>
        ))}
      </ul>
    </>
  );
}

interface UnlinkProps {
  record: RecordView;
  link: Linked;
  relation: Linked["relations"][number];
  onChange: () => void;
}

function Unlink({ record, link, relation, onChange }: UnlinkProps) {
  const [source, target] =
    relation.direction === "incoming" ? [link.handle, record.handle] : [record.handle, link.handle];
  const work = async () => {
    await body(api.DELETE("/v1/links", { params: { query: { source, target, relation: relation.relation } } }));
    onChange();
  };
  return (
    <ConfirmButton
      label="Unlink"
      aria-label={`Unlink ${link.name}`}
      title="Remove this link?"
      confirmLabel="Remove link"
      work={work}
    >
      <p>
        “{record.name}” {relation.reads} “{link.name}”. Both records stay.
      </p>
    </ConfirmButton>
  );
}
