"""The tests: unit, property, contract, integration and structure."""
