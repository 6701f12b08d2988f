-- The relations of a pack's links, each found once: every prompt that can link records names them.
CREATE INDEX edges_pack_relations ON edges (tenant_id, relation) WHERE created_by = '';
