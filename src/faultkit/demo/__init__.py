"""A small service with a dependency, to try faults on: `fault demo run`."""
