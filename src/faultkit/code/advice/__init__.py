"""What hurts in production, how much, and what to do about it: by offline rules, or by a language model."""
