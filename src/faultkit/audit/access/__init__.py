"""Who may come in, and what they may do: keys, tokens, rates, and the door that asks for them."""
