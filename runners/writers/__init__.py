"""The writers of a load: processes here, or workers of a cluster."""
