"""Problem folders: read, checked, packed and begun."""
