"""A server made of a file: tools, resources and prompts with the answers that the file gives them."""
