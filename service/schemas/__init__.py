"""What goes over the wire, as Pydantic models: the API's answers and requests, and the client's."""
