"""How a probe reaches a server: raw bytes over either transport, and whatever comes for them."""
