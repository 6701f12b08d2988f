"""Signing in, tenants, their versions and their audit trail."""
