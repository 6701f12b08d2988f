-- Vectors are stored in half precision, which finds what full precision finds in half of the memory. The table is locked
-- while it is rewritten. Its vector indexes are dropped here, and built again after the migrations while it is written.

DO $$
DECLARE
    index regclass;
BEGIN
    FOR index IN SELECT indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                  WHERE i.indrelid = 'embeddings'::regclass AND c.relname LIKE 'embeddings\_hnsw\_%' LOOP
        EXECUTE format('DROP INDEX %s', index);
    END LOOP;
END
$$;
-- A new type resets the storage. One statement sets it before the rows are rewritten: vectors stay in their rows.
ALTER TABLE embeddings ALTER vector TYPE halfvec USING vector::halfvec, ALTER vector SET STORAGE MAIN;

-- As in 0001, for vectors of half precision; a question of full precision is cast. The extension's settings are known
-- once it is loaded.
DO $$ BEGIN PERFORM '[1]'::halfvec; END $$;
DROP FUNCTION search_nearest(text, vector, int, uuid, boolean, int, int);
CREATE FUNCTION search_nearest(
    space text, question halfvec, clearance int, team uuid, any_team boolean, most int, few int
)
    RETURNS TABLE (id uuid, distance float8)
    LANGUAGE plpgsql STABLE ROWS 60
    SET hnsw.iterative_scan = 'relaxed_order' SET hnsw.ef_search = 400 SET hnsw.max_scan_tuples = 40000
AS $$
#variable_conflict use_column
DECLARE
    is_small boolean;
    given int := 0;
BEGIN
    SELECT reltuples BETWEEN 0 AND few INTO is_small FROM pg_class WHERE oid = 'embeddings'::regclass;
    IF NOT is_small THEN
        SELECT count(*) <= few INTO is_small FROM (SELECT FROM embeddings e WHERE e.space = search_nearest.space LIMIT few + 1) counted;
    END IF;
    IF NOT is_small THEN
        RETURN QUERY EXECUTE format(
            'SELECT v.row_id, (v.vector <=> $1)::float8
               FROM embeddings v
               JOIN context_rows r ON (r.tenant_id, r.id) = (v.tenant_id, v.row_id)
              WHERE v.space = %2$L AND r.classification <= $2 AND r.session_id IS NULL
                AND (r.team_id IS NULL OR $4 OR r.team_id = $3)
              ORDER BY v.vector::halfvec(%1$s) <=> $1::halfvec(%1$s)
              LIMIT $5',
            vector_dims(question), search_nearest.space
        ) USING question, clearance, team, any_team, most;
        GET DIAGNOSTICS given = ROW_COUNT;
        IF given >= most THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
        SELECT v.row_id, v.vector <=> question AS distance
          FROM embeddings v
          JOIN context_rows r ON (r.tenant_id, r.id) = (v.tenant_id, v.row_id)
         WHERE v.space = search_nearest.space AND r.classification <= clearance AND r.session_id IS NULL
           AND (r.team_id IS NULL OR any_team OR r.team_id = team)
         ORDER BY distance, v.row_id
         LIMIT most;
END
$$;
REVOKE ALL ON FUNCTION search_nearest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_nearest TO parlour_app;
