"""The search for the breaking point: the level of a setting at which objectives stop being kept. Pure."""
