"""Who is who and what belongs to whom: tenants, sign-in, people, bindings, versions and the audit trail."""
