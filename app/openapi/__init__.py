"""The OpenAPI of the service, made from the declarations of its endpoints when it is first asked for.

Reading order: `serving` (when it is made), `document` (operations and components), `operations` (texts beside
the declarations), `responses` (shared responses and headers), `problem_bodies` (bodies of failures), `examples`
(requests that were sent, with their answers), `event_examples` (streams of events with these answers), `docs_page`
(Swagger UI under `/docs`).
"""
