"""Results of tasks, kept for the next time the same input comes."""
