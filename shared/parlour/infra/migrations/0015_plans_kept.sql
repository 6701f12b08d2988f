-- What recall asks of the database keeps its plans: in a function in SQL a statement is planned whenever it is called.

-- As before. It runs once for each question, and for each message that is indexed.
CREATE OR REPLACE FUNCTION word_bits(words tsvector) RETURNS "bit"
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public
AS $$
BEGIN
    RETURN (
        SELECT COALESCE(bit_or(set_bit(repeat('0', 1024)::bit(1024), ('x' || substr(md5(w.word), 4 * n, 4))::bit(16)::int & 1023, 1)),
                        repeat('0', 1024)::bit(1024))
          FROM unnest(tsvector_to_array(words)) AS w (word),
               generate_series(1, CASE WHEN length(w.word) >= 8 OR w.word ~ '\d' THEN 3 ELSE 1 END) AS n);
END
$$;

-- As before. The bits that a text shares with the question are half of those that both have, less those in which they
-- differ: so counted, no third string of bits is made for each of ten thousand rows. What is the same for all of them is
-- left out.
CREATE OR REPLACE FUNCTION recall_nearest(
    sessions uuid[], clearance int, space text, signs "bit", words "bit", word float8, unknown float8, most int
)
    RETURNS TABLE (id uuid)
    LANGUAGE plpgsql STABLE ROWS 80
    SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    half CONSTANT float8 := word / 2;
    none CONSTANT float8 := -bit_count(words);
BEGIN
    RETURN QUERY
    SELECT r.id
      FROM context_rows r
     WHERE r.session_id = ANY(sessions) AND r.session_id IS NOT NULL AND r.classification <= clearance
     ORDER BY CASE WHEN r.vector_space = space THEN r.vector_bits <~> signs ELSE unknown END
              - half * COALESCE(bit_count(r.word_bits) - (r.word_bits <~> words), none), r.id DESC
     LIMIT most;
END
$$;
