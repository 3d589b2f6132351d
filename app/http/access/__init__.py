"""Who may call a service: by a key, from a web page, under a name of the service.

Reading order: `keys` (who may call what), `guesses` (wrong keys by address), `sites` (what a web page may not do),
`origins` (what pages of named origins may).
"""
