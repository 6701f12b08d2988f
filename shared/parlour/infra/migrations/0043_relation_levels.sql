-- Prompts name the relations of a pack's links by the tenant's settings, which the next apply of the pack writes.
DROP INDEX edges_pack_relations;
