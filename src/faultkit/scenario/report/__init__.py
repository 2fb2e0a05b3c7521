"""Reports of scenario runs: `report_model` holds the values, and each format has one builder."""
