"""Reports of chaos experiments, from their journals: plain JSON, as files and databases keep it."""
