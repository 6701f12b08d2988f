-- Failed attempts are counted with the work itself, and go when it is done. failures: how many in a row; problem: the code
-- of the last error, 'died' while an attempt is under way.
ALTER TABLE work_due ADD COLUMN failures int NOT NULL DEFAULT 0, ADD COLUMN problem text;

ALTER TABLE extractions
    DROP COLUMN failures,
    DROP COLUMN problem,
    DROP COLUMN summary_failures,
    DROP COLUMN summary_problem,
    DROP COLUMN consolidation_failures;
