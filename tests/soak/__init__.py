"""Long mixed traffic through everything that serves, with what is left at the end: `make soak`."""
