"""What a suite expects: targets name a part of what came of a run, matchers judge it. Pure."""
