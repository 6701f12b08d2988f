-- A wake that found another worker at the session: that worker looks for messages again when its turn ends.
ALTER TABLE sessions ADD COLUMN has_pending_wake boolean NOT NULL DEFAULT false;
