"""What a load costs Oracle, as published: no live server has confirmed it."""
