"""Page models: B-tree simulators that predict, to the page, what an index of each engine looks like."""
