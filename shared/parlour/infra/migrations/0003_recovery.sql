-- How a session is woken whose worker died.

-- wake_group: which FIFO group the session's wake-ups go to; raised whenever it is woken anew. A worker that was killed
-- keeps its message, and with it the message's group, until the queue's visibility timeout is over.
ALTER TABLE sessions ADD COLUMN wake_group int NOT NULL DEFAULT 0;
