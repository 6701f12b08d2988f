-- What the console lists, and the ways to what is cited.

-- All conversations of a tenant, newest activity first, page by page.
CREATE INDEX sessions_activity ON sessions (tenant_id, last_active_at DESC, id DESC);

-- The failed turns of a period, dismissed ones too.
CREATE INDEX turns_failed ON turns (tenant_id, finished_at) WHERE state = 'failed';

-- The source of a citation (`table/id`) by which its page is found: its row, or what that belonged to when it is gone.
CREATE FUNCTION citation_source(cited citations) RETURNS text
    LANGUAGE sql STABLE
    RETURN CASE WHEN cited.row_id IS NOT NULL THEN 'context_rows/' || cited.row_id
                WHEN cited.document_id IS NOT NULL THEN 'documents/' || cited.document_id
                WHEN cited.file_id IS NOT NULL THEN 'files/' || cited.file_id
                WHEN cited.entity_id IS NOT NULL THEN 'entities/' || cited.entity_id END;
