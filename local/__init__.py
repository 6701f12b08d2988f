"""The laptop stack: what stands in for AWS when there is none. Nothing here is deployed."""
