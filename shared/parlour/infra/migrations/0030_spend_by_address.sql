-- What anonymous visitors of one network address spend in a day.

-- address: the hash of where the user of a web session wrote from last, as rate limits know it; null when that is not known.
ALTER TABLE sessions ADD COLUMN address text;
ALTER TABLE spend_reservations ADD COLUMN address text;

-- One row per address and UTC day, for today and yesterday only.
CREATE TABLE spend_addresses (
    tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    day       date NOT NULL,
    address   text NOT NULL,
    spent_usd numeric(14, 8) NOT NULL,
    PRIMARY KEY (tenant_id, day, address)
);
CALL isolate('spend_addresses');
