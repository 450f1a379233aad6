"""The writers of a load: processes on this machine or on a cluster, which wait for one another at barriers."""
