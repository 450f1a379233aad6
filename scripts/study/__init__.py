"""The study: the runs that docs/findings.md rests on."""
