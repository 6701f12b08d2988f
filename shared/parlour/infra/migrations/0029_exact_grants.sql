-- A permission is for the tool that was asked about. Those for all tools whose names begin alike end here: their givers
-- may have been asked about one of them only. The owner deletes for all tenants here.

ALTER TABLE approval_grants NO FORCE ROW LEVEL SECURITY;
DELETE FROM approval_grants WHERE strpos(tool, '*') > 0;
ALTER TABLE approval_grants FORCE ROW LEVEL SECURITY;
