"""The service: HTTP in front, the command line, and the only wiring of stores to the engine.

Reading order: `main` (settings to a store, a service and an application), `settings` (every setting, once),
`hosts` (names and addresses), `errors` (errors that only the web side knows), `units` (sizes and durations as people
read them); then the rooms as a request meets them: `connection`, `http`, `routes`, `wire`, `waiting`, `backend`,
`fold`. Beside them: `admission` (how much is taken on), `figures` (what is measured), `openapi`, `console` (the page
for people), `pages`, `operate` (what operators see), `processes` (what each command runs), `cli`.
"""
