"""What an index of any number of rows will look like, from a page model of a few of them."""
