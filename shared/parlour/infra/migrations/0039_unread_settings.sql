-- Settings that were stored and that nothing read: the briefing has an order of its own, and the turn metadata one size.
-- A pack that has them is refused now, so an export must not write them. The owner changes all tenants here.
ALTER TABLE agents NO FORCE ROW LEVEL SECURITY;
UPDATE agents SET budget = budget #- '{layers,heartbeat}' WHERE budget #> '{layers,heartbeat}' IS NOT NULL;
UPDATE agents
   SET budget = jsonb_set(budget, '{eviction_order}', (budget -> 'eviction_order') - 'nearest' - 'file_summaries')
 WHERE budget -> 'eviction_order' ?| ARRAY['nearest', 'file_summaries'];
UPDATE agents SET budget = jsonb_set(budget, '{layers,summary,cap}', '1500')
 WHERE (budget #>> '{layers,summary,cap}')::int > 1500;
ALTER TABLE agents FORCE ROW LEVEL SECURITY;

ALTER TABLE entity_types NO FORCE ROW LEVEL SECURITY;
UPDATE entity_types SET rag = rag #- '{budget,layers,heartbeat}' WHERE rag #> '{budget,layers,heartbeat}' IS NOT NULL;
UPDATE entity_types
   SET rag = jsonb_set(rag, '{budget,eviction_order}',
                       (rag #> '{budget,eviction_order}') - 'nearest' - 'file_summaries')
 WHERE rag #> '{budget,eviction_order}' ?| ARRAY['nearest', 'file_summaries'];
UPDATE entity_types SET rag = jsonb_set(rag, '{budget,layers,summary,cap}', '1500')
 WHERE (rag #>> '{budget,layers,summary,cap}')::int > 1500;
ALTER TABLE entity_types FORCE ROW LEVEL SECURITY;
