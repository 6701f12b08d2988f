-- What is needed to look through a conversation of ten thousand messages on every turn of it: each message's row in a
-- few bytes, by meaning and by words, read from the index alone.

-- The words of a text as 1,024 bits. A long word or one with a digit is likely to be rare: it has three, others one.
CREATE FUNCTION word_bits(words tsvector) RETURNS "bit"
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public
AS $$
    SELECT COALESCE(bit_or(set_bit(repeat('0', 1024)::bit(1024), ('x' || substr(md5(w.word), 4 * n, 4))::bit(16)::int & 1023, 1)),
                    repeat('0', 1024)::bit(1024))
      FROM unnest(tsvector_to_array(words)) AS w (word),
           generate_series(1, CASE WHEN length(w.word) >= 8 OR w.word ~ '\d' THEN 3 ELSE 1 END) AS n
$$;
REVOKE ALL ON FUNCTION word_bits FROM PUBLIC;
GRANT EXECUTE ON FUNCTION word_bits TO parlour_app;

-- Of rows of conversations only. word_bits: of its lexemes. vector_bits: the signs of its vector in vector_space, the
-- space that it was embedded in last. The types have no length of their own: models differ in their dimensions.
ALTER TABLE context_rows
    ADD COLUMN word_bits    "bit",
    ADD COLUMN vector_bits  "bit",
    ADD COLUMN vector_space text;
-- Filled for what was said so far, of every tenant.
ALTER TABLE tenants NO FORCE ROW LEVEL SECURITY;
ALTER TABLE embeddings NO FORCE ROW LEVEL SECURITY;
ALTER TABLE context_rows NO FORCE ROW LEVEL SECURITY;
UPDATE context_rows r
   SET word_bits = word_bits(r.lexemes), vector_bits = v.bits, vector_space = v.model
  FROM context_rows o
  LEFT JOIN LATERAL (SELECT binary_quantize(e.vector) AS bits, e.model
                       FROM embeddings e
                       JOIN tenants t ON t.tenant_id = e.tenant_id
                      WHERE (e.tenant_id, e.row_id) = (o.tenant_id, o.id)
                      ORDER BY e.model = t.embedding_space DESC NULLS LAST LIMIT 1) v ON true
 WHERE (o.tenant_id, o.id) = (r.tenant_id, r.id) AND r.session_id IS NOT NULL;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
ALTER TABLE embeddings FORCE ROW LEVEL SECURITY;
ALTER TABLE context_rows FORCE ROW LEVEL SECURITY;

DROP INDEX context_rows_session;
CREATE INDEX context_rows_session ON context_rows (tenant_id, session_id)
    INCLUDE (id, classification, word_bits, vector_space, vector_bits) WHERE session_id IS NOT NULL;

-- The rows of some conversations that are likely to be nearest to a question, by the signs of its vector and the bits
-- of its words; `word` is what a shared bit of words counts beside one of the signs, `unknown` what stands for a row
-- without a vector in the space. It runs as its caller, under row-level security, and reads the index alone: going
-- through the rows themselves, which are long, takes twice as long and seems cheaper to the planner.
CREATE FUNCTION recall_nearest(
    sessions uuid[], clearance int, space text, signs "bit", words "bit", word float8, unknown float8, most int
)
    RETURNS TABLE (id uuid)
    LANGUAGE sql STABLE ROWS 80 SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
    SELECT r.id
      FROM context_rows r
     WHERE r.session_id = ANY(sessions) AND r.session_id IS NOT NULL AND r.classification <= clearance
     ORDER BY CASE WHEN r.vector_space = space THEN r.vector_bits <~> signs ELSE unknown END
              - word * COALESCE(bit_count(r.word_bits & words), 0), r.id
     LIMIT most
$$;
REVOKE ALL ON FUNCTION recall_nearest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recall_nearest TO parlour_app;
