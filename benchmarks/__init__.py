"""What is measured about the system, each benchmark runnable by one command."""
