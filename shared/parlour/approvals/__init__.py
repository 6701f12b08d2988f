"""Questions to a person: who is asked about which tool call, what they answered, and what may run without asking."""
