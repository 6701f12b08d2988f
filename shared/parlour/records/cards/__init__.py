"""What people see of what a search found: one card per row, with the way to where it stands."""
