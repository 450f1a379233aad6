"""What a load costs in pages read, pages written and log. Here is what engines share; their rules are in their folders."""
