-- run_holder: the dispatcher that the current run was given to; one taken by a statement whose answer was lost is its own.
ALTER TABLE tool_calls ADD COLUMN run_holder uuid;
