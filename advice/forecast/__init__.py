"""What tables cost that are too large to insert here: page models on a sample of the keys, at any size of memory."""
