-- Search over a whole tenant, by words and by meaning: what a reader may see is decided in here, before anything is
-- cut off, so that what they may not see takes nobody's place. Conversations are not part of it.

-- team: on whose behalf is searched; any_team: whether every team's own rows are seen. The lexemes come along, since
-- the caller weighs each word by how well it tells the rows apart.
DROP FUNCTION search_lexemes(tsquery, int, int);
CREATE FUNCTION search_lexemes(query tsquery, clearance int, team uuid, any_team boolean, most int)
    RETURNS TABLE (id uuid, rank real, lexemes tsvector)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT r.id, ts_rank(r.lexemes, query) AS rank, r.lexemes
      FROM context_rows r
     WHERE r.lexemes @@ query AND r.tenant_id = current_tenant() AND r.classification <= clearance
       AND r.session_id IS NULL AND (r.team_id IS NULL OR any_team OR r.team_id = team)
     ORDER BY rank DESC, r.id
     LIMIT most
$$;
REVOKE ALL ON FUNCTION search_lexemes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_lexemes TO parlour_app;
GRANT CREATE ON SCHEMA public TO parlour_search;
ALTER FUNCTION search_lexemes OWNER TO parlour_search;
REVOKE CREATE ON SCHEMA public FROM parlour_search;

-- The nearest rows of a tenant. Up to `few` vectors in the space all are compared: that is exact, and faster than the
-- index as long as they are few. Above, the index of the space is read on and on until enough of what it gives passes
-- (iterative, relaxed order); should that give up too early, all are compared after all. It runs as its caller, under
-- row-level security. The number of dimensions is part of the index's expression and cannot be a parameter.
-- The extension's settings are known only once it is loaded, which the first vector does.
DO $$ BEGIN PERFORM '[1]'::vector; END $$;
CREATE FUNCTION search_nearest(
    space text, question vector, clearance int, team uuid, any_team boolean, most int, few int
)
    RETURNS TABLE (id uuid, distance float8)
    LANGUAGE plpgsql STABLE
    SET hnsw.iterative_scan = 'relaxed_order' SET hnsw.ef_search = 100 SET hnsw.max_scan_tuples = 40000
AS $$
#variable_conflict use_column
DECLARE
    is_small boolean;
    given int := 0;
BEGIN
    SELECT reltuples BETWEEN 0 AND few INTO is_small FROM pg_class WHERE oid = 'embeddings'::regclass;
    IF NOT is_small THEN
        SELECT count(*) <= few INTO is_small FROM (SELECT FROM embeddings WHERE model = space LIMIT few + 1) counted;
    END IF;
    IF NOT is_small THEN
        RETURN QUERY EXECUTE format(
            'SELECT v.row_id, (v.vector::vector(%1$s) <=> $1)::float8
               FROM embeddings v
               JOIN context_rows r ON (r.tenant_id, r.id) = (v.tenant_id, v.row_id)
              WHERE v.model = %2$L AND r.classification <= $2 AND r.session_id IS NULL
                AND (r.team_id IS NULL OR $4 OR r.team_id = $3)
              ORDER BY v.vector::vector(%1$s) <=> $1
              LIMIT $5',
            vector_dims(question), space
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
         WHERE v.model = space AND r.classification <= clearance AND r.session_id IS NULL
           AND (r.team_id IS NULL OR any_team OR r.team_id = team)
         ORDER BY distance, v.row_id
         LIMIT most;
END
$$;
REVOKE ALL ON FUNCTION search_nearest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_nearest TO parlour_app;
