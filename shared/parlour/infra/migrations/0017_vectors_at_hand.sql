-- Recall compares eighty whole vectors on every turn. One of 512 numbers is a little too long for what PostgreSQL leaves
-- in its row, and was looked up elsewhere: half a millisecond for eighty. From now on it stays as long as it fits a page;
-- what is there already goes when it is written anew. Other columns of these rows are few and short.
ALTER TABLE embeddings ALTER vector SET STORAGE MAIN;
