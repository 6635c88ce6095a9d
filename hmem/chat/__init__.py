"""A chat model: the client, and from its reply to a value that can be trusted."""
