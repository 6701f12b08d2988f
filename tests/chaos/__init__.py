"""The fault suite: kills at every port call, a database that goes away, a worker that stalls; and what came of it."""
