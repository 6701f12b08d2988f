-- Whether the user who is asked about a call may change its arguments; members may.
ALTER TABLE tools ADD COLUMN editable boolean NOT NULL DEFAULT false;
