"""What became of suites, told in the ways that people and machines read. Pure: from `Results` to text."""
