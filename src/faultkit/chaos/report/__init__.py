"""Reports of chaos experiments, built from their journals: values, the HTML page, and all other formats."""
