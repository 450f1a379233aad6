"""What a load costs in pages read, pages written and log: what engines share. Their own rules are in their folders."""
