"""What is known of providers of language models: where they are, how they fail, when to ask again."""
