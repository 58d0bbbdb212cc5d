"""Records of the database as schemas of the API."""
