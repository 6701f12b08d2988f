-- Return what clearance others need to read a session: it may hold whatever its user may see, and what it is about or was
-- answered from may have been classified higher since.
CREATE FUNCTION session_clearance(session sessions) RETURNS int LANGUAGE sql STABLE AS $$
    SELECT GREATEST(
        session.answering_clearance,
        (SELECT b.clearance FROM bindings b WHERE (b.tenant_id, b.id) = (session.tenant_id, session.binding_id)),
        (SELECT u.clearance FROM users u WHERE (u.tenant_id, u.id) = (session.tenant_id, session.user_id)),
        (SELECT e.classification FROM entities e WHERE (e.tenant_id, e.id) = (session.tenant_id, session.entity_id)),
        (SELECT max(r.classification)
           FROM citation_numbers n
           JOIN context_rows r ON (r.tenant_id, r.id) = (n.tenant_id, n.row_id)
          WHERE (n.tenant_id, n.session_id) = (session.tenant_id, session.id)))
$$;
