"""Results: the metrics, the results database, and what is made of them."""
