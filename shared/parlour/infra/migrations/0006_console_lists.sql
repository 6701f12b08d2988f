-- Documents that left the tenant's pack, and the changes of records as a list.

-- left_pack_at: since when the applied pack has this document no more; null while it has it, and for what people wrote.
-- Only such a document of a pack may be deleted by itself: any other would come back with the next apply.
ALTER TABLE documents ADD COLUMN left_pack_at timestamptz;

-- What agents changed in a tenant, newest first, page by page.
CREATE INDEX agent_writes_time ON agent_writes (tenant_id, written_at DESC, id DESC);
