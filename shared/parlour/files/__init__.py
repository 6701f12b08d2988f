"""Files that people upload: kept, read in a child process, cut, summed up, found."""
