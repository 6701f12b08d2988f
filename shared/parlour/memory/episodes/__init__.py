"""Episodes: what earlier conversations of a user were about, as rows and as they are told."""
