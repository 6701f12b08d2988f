-- What the developer of a tool reads about a failed call: status and excerpt of its answer, or error, file and line.
ALTER TABLE tool_calls ADD COLUMN detail text NOT NULL DEFAULT '';
