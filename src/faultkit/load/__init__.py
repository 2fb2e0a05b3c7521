"""Load: when to send, sending, and the mathematics of what came back."""
