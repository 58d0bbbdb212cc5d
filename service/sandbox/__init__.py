"""The sandbox: programs are scored in process trees that cannot look around, reach out, or outlive their limits."""
