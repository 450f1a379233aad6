"""What engines share: optional protocols, probes, packing of rows, coordination of writers."""
