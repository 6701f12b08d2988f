"""What a conversation says of its user, read by a model and held against the user's own words."""
