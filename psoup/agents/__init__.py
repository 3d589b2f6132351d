"""What agents use a service through: the Model Context Protocol, a thin layer over `psoup.client`. Needs `psoup[mcp]`.

Nothing is kept between two calls: a handle and a cursor are all that an agent needs to go on, with another process as
well as with this one.

Reading order: `catalogue` (the tools, as an agent sees them), `arguments` and `answers` (what goes in and comes out),
`looking`, `asking`, `standing` and `following` (what each tool asks the service), `fitting` over `tokens` (an answer
is cut to a budget, and says so), `refusals` (errors that an agent can mend), `resources`, `server` (all of it put
together), `over_stdio` and `over_http`.
"""
