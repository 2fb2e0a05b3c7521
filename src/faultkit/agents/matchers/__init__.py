"""What a suite expects: a target names a part of a run's document, a matcher judges its value. Pure."""
