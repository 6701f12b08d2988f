-- Streams of visitors that are open. address: the hash of where its visitor is, as rate limits know it. expires_at: when
-- the stream has ended for certain, also if its process died.
CREATE TABLE open_streams (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id         uuid NOT NULL,
    user_id    uuid NOT NULL,
    address    text,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('open_streams');
