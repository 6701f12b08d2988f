-- What packs applied, so that an apply tells its own values from those that people changed, and can be undone.

-- applied: digests by field of what the last apply wanted for an item. Digests are enough to compare, and hold no text.
-- is_in_pack: whether the last applied pack has the item.
CREATE TABLE pack_items (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    kind       text NOT NULL,
    name       text NOT NULL,
    applied    jsonb NOT NULL,
    is_in_pack boolean NOT NULL DEFAULT true,
    PRIMARY KEY (tenant_id, kind, name)
);
CALL isolate('pack_items');

-- The newest applies that changed something and were not undone. number: their order; ids are not in order.
CREATE TABLE pack_applies (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    id         uuid NOT NULL,
    applied_by text NOT NULL,
    applied_at timestamptz NOT NULL,
    number     bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (tenant_id, id)
);
CALL isolate('pack_applies');

-- What an apply changed. before: the replaced values by field; null for a created item. after: digests of the written
-- values by field, '' for a removed field; null for a deleted item. applied_before: `pack_items.applied` before it.
-- record_id: no foreign key; erasure finds the row by it, also when the record is deleted.
CREATE TABLE pack_changes (
    tenant_id      uuid NOT NULL,
    id             uuid NOT NULL,
    apply_id       uuid NOT NULL,
    kind           text NOT NULL,
    name           text NOT NULL,
    record_id      uuid,
    before         jsonb,
    after          jsonb,
    applied_before jsonb,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, apply_id, kind, name),
    FOREIGN KEY (tenant_id, apply_id) REFERENCES pack_applies (tenant_id, id) ON DELETE CASCADE
);
CALL isolate('pack_changes');
CREATE INDEX pack_changes_record ON pack_changes (tenant_id, record_id) WHERE record_id IS NOT NULL;
