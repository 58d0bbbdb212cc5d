"""The study: trained maze policies compared by what they answer, alone and inside searches, in one report."""
