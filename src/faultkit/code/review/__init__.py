"""Review of files and folders: rules applied, findings, SARIF. `faultkit.code.rules` holds the rules."""
