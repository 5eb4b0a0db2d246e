"""Turning values into bytes and back, without ever running what the bytes say."""
