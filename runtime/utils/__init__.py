"""Small helpers that programs import by LangGraph's names."""
