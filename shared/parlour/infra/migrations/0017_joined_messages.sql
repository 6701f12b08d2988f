-- A message may join the turn that runs: joined_step is the step after which the turn reads it.
ALTER TABLE messages ADD COLUMN joined_step int;
