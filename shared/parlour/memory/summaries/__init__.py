"""What stands for the older turns of a long conversation: a summary, what of it must survive word for word, anchors."""
