-- The app role reads which migrations were applied, so that `parlour doctor` compares them with the release.

GRANT SELECT ON schema_migrations TO parlour_app;
