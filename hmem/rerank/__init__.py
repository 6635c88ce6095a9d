"""Reading query and hits together: late interaction on the local weights, or a reranking
model at an endpoint."""
