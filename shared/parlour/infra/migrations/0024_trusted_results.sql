-- Tools whose results are not text of others, so that later writes of the conversation do not ask because of them.
ALTER TABLE tools ADD COLUMN trusted_results boolean NOT NULL DEFAULT false;
