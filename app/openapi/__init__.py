"""The OpenAPI of the service, made from the declarations of its endpoints when it is first asked for."""
