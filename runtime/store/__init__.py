"""Memory that outlives a thread: items under namespaces, found again by key, filter or likeness."""
