"""What Lambda calls: each parses its event, makes one call into a service and maps the answer."""
