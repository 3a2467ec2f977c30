"""The search for better plans."""
