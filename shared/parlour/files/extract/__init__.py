"""From a file's bytes to Markdown, page by page. Everything here but `child` and `run` is given to a child process."""
