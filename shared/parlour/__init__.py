"""Parlour: a serverless agent runtime for AWS."""
