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
-- space that the tenant's searches look into. The types have no length of their own: models differ in their dimensions.
ALTER TABLE context_rows
    ADD COLUMN word_bits    "bit",
    ADD COLUMN vector_bits  "bit",
    ADD COLUMN vector_space text;

-- A tenant some of whose rows lack these, or have them of a space that its searches have left. cursor: the row that was
-- filled last; the newest are filled first.
CREATE TABLE recall_fillings (
    tenant_id uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
    cursor    uuid
);
-- What was said so far, of every tenant. A million rows take minutes, so the embedder fills them in batches; until then
-- such a row counts as one whose meaning is not known.
ALTER TABLE tenants NO FORCE ROW LEVEL SECURITY;
ALTER TABLE context_rows NO FORCE ROW LEVEL SECURITY;
ALTER TABLE work_due NO FORCE ROW LEVEL SECURITY;
INSERT INTO recall_fillings (tenant_id)
SELECT t.tenant_id
  FROM tenants t
 WHERE EXISTS (SELECT FROM context_rows r WHERE r.tenant_id = t.tenant_id AND r.session_id IS NOT NULL);
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT tenant_id, 'embedding', tenant_id, now() FROM recall_fillings
ON CONFLICT (tenant_id, kind, id) DO NOTHING;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
ALTER TABLE context_rows FORCE ROW LEVEL SECURITY;
ALTER TABLE work_due FORCE ROW LEVEL SECURITY;
CALL isolate('recall_fillings');

-- The indexes over these are made when the files are done, while the table is written (row_indexes.py).

-- The rows of some conversations that are likely to be nearest to a question, by the signs of its vector and the bits
-- of its words, the newest of those that are equally near; `word` is what a shared bit of words counts beside one of the
-- signs, `unknown` what stands for a row without a vector in the space. It runs as its caller, under row-level security,
-- and reads the index alone: going through the rows themselves, which are long, takes twice as long and seems cheaper
-- to the planner.
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
              - word * COALESCE(bit_count(r.word_bits & words), 0), r.id DESC
     LIMIT most
$$;
REVOKE ALL ON FUNCTION recall_nearest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recall_nearest TO parlour_app;
