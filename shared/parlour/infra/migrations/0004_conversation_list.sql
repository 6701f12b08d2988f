-- How a tenant's conversations are listed.

-- All conversations of a tenant, newest activity first, page by page.
CREATE INDEX sessions_activity ON sessions (tenant_id, last_active_at DESC, id DESC);

-- The failed turns of a period, dismissed ones too.
CREATE INDEX turns_failed ON turns (tenant_id, finished_at) WHERE state = 'failed';
