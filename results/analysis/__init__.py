"""From recorded values to what they prove: groups, statistics, warnings."""
