"""What `fault serve` serves beside its tools: health, metrics, an API over the audit log, and a portal."""
