"""The console: the page for people under `/console`. Its source is `console/`; `make console` builds it into `built/`.

Reading order: `mounting` (its paths), `serving` (its files, with their headers; loaded when it is first asked for).
"""
