import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import type { Route } from "../../shell/router";
import type { PageProps } from "../../shell/sections";
import { useResource } from "../../ui/resource";
import { Loaded } from "../../ui/states";
import { DocumentListPage } from "./documents/DocumentListPage";
import { DocumentPage } from "./documents/DocumentPage";
import { FileListPage } from "./files/FileListPage";
import { FilePage } from "./files/FilePage";
import { NewRecordPage } from "./NewRecordPage";
import { RecordListPage } from "./RecordListPage";
import { RecordPage } from "./RecordPage";
import { RecordTypes } from "./record_types";
import { SearchBox } from "./SearchBox";
import { SearchPage } from "./SearchPage";
import "./records.css";

/** Records, documents, files and the search in all of them. The record types are read once for all pages. */
export default function RecordsSection({ route }: PageProps) {
  const types = useResource((signal) => body(api.GET("/v1/entity-types", { signal })), []);
  return (
    <>
      <SearchBox route={route} />
      <Loaded of={types}>
        {(found) => (
          <RecordTypes.Provider value={found.types}>
            <CurrentPage route={route} />
          </RecordTypes.Provider>
        )}
      </Loaded>
    </>
  );
}

function CurrentPage({ route }: { route: Route }) {
  const [section = "", first = "", ...rest] = route.path;
  if (section === "search") return <SearchPage route={route} />;
  if (section === "documents") return <DocumentListPage route={route} />;
  if (section === "files")
    return first ? <FilePage key={first} id={first} route={route} /> : <FileListPage route={route} />;
  if (section === "new") return <NewRecordPage route={route} />;
  if (!first) return <RecordListPage route={route} />;
  // A document's key may contain slashes.
  const key = rest.join("/");
  if (first === "document") return <DocumentPage key={key} documentKey={key} route={route} />;
  return <RecordPage key={`${first}/${key}`} type={first} recordKey={key} route={route} />;
}
