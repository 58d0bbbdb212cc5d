"""The study: it compares the answers of trained maze policies, alone and inside searches, in a report."""
