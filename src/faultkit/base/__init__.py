"""The ground floor: small things that every package needs, each once. Imports nothing above itself."""
