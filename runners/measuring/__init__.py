"""What is measured around and after a load, beside what the probes of an engine read."""
