-- Parents of records: by a link whose relation has a parent end, and by the project of a record. An unknown relation has
-- its target as the parent. edge_id: the link, NULL for a project. A test compares the relations with
-- parlour/records/relations.py.
CREATE VIEW record_parents WITH (security_invoker = true) AS
    SELECT tenant_id, target_id AS parent_id, source_id AS child_id, id AS edge_id
      FROM edges
     WHERE relation NOT IN ('achieved_by', 'contains', 'depends_on', 'has_task', 'produces', 'referenced_by', 'references',
                            'relates_to', 'requires')
    UNION ALL
    SELECT tenant_id, source_id, target_id, id
      FROM edges
     WHERE relation IN ('achieved_by', 'contains', 'has_task', 'produces', 'requires')
    UNION ALL
    SELECT tenant_id, project_id, id, NULL FROM entities WHERE project_id IS NOT NULL;
GRANT SELECT ON record_parents TO parlour_app;
