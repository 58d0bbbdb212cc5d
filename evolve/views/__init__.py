"""Views: what candidates look like, as evaluators draw them; read, bounded and checked before anything keeps them."""
