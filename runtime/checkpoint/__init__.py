"""Where a thread rests between supersteps: the saver's port, the serializer, and savers."""
