"""The functions behind the tools, one module a subject, imported when the first of its tools is called."""
