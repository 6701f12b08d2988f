-- Which migrations were applied, for `parlour doctor`. The app role reads them through a function and may not touch the
-- table itself.

CREATE FUNCTION list_applied_migrations()
    RETURNS TABLE (version int)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
    SELECT m.version FROM schema_migrations m
$$;
REVOKE ALL ON FUNCTION list_applied_migrations FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_applied_migrations TO parlour_app;
