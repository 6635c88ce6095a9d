"""A real embeddings endpoint on a loopback port, which answers as it is told.

    with EmbeddingsEndpoint() as endpoint:
        embedder = RemoteEmbedder("any", base_url=endpoint.url)
        endpoint.answer = lambda body: PlainTextResponse("busy", 503)

Its vectors are `HashEmbedder`'s. Needs starlette and uvicorn.
"""

import base64
from collections.abc import Sequence

from starlette.responses import JSONResponse, Response

from hmem.testing.fakes import HashEmbedder
from hmem.testing.loopback import Body, Loopback

__all__ = ["Body", "EmbeddingsEndpoint"]


class EmbeddingsEndpoint(Loopback):
    """Serves `POST /v1/embeddings` in a thread while its `with` block lasts."""

    path = "/v1/embeddings"

    def __init__(self, *, dim: int = 64) -> None:
        super().__init__()
        self.vectors = HashEmbedder(dim)

    def well(self, body: Body) -> Response:
        """The right reply, in the encoding asked for."""
        return self.reply(body["input"], encoding=body.get("encoding_format"))

    def reply(self, texts: Sequence[str], *, encoding: str | None = None) -> Response:
        """A reply with these texts' vectors."""
        rows = [self.vectors.vector(text) for text in texts]
        data = [
            {
                "object": "embedding",
                "index": i,
                "embedding": base64.b64encode(row.tobytes()).decode()
                if encoding == "base64"
                else row.tolist(),
            }
            for i, row in enumerate(rows)
        ]
        return JSONResponse({"object": "list", "model": "any", "data": data})
