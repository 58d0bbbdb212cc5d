"""Requests and answers of the API and its client, as Pydantic models."""
