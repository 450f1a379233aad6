"""What engines share: connections, sessions, owned schemas, probes, questions, packed rows, coordination of writers."""
