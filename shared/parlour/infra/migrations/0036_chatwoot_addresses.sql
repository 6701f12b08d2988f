-- Addresses of Chatwoot's webhooks that can be rotated one by one.

-- inbox: the address of Chatwoot's inbox, as `notifications.recipient` has it. address_id: what the token in the address
-- has to name; a new one ends the old address.
CREATE TABLE chatwoot_addresses (
    tenant_id  uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    inbox      text NOT NULL,
    address_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, inbox)
);
CALL isolate('chatwoot_addresses');
