"""The first screen of a report: the finding in one sentence, three pictures, one table of layouts."""
