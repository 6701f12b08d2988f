"""A visitor of the web who is also somebody on the phone: both are one once they agree and a code says so."""
