"""Every embedder passes the same suite."""

from collections.abc import Iterator

import pytest

from hmem.testing.embedder_suite import (
    EmbedderSuite,
    MakeEmbedder,
    SemanticEmbedderSuite,
)
from hmem.testing.endpoint import EmbeddingsEndpoint
from hmem.testing.fakes import HashEmbedder


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EmbeddingsEndpoint]:
    with EmbeddingsEndpoint() as endpoint:
        yield endpoint


@pytest.mark.model
class TestMiniLM(SemanticEmbedderSuite):
    @pytest.fixture
    def make_embedder(self) -> MakeEmbedder:
        from hmem.embed.minilm import MiniLM

        return MiniLM.load


class TestRemoteEmbedder(EmbedderSuite):
    @pytest.fixture(params=["float", "base64"])
    def make_embedder(
        self, endpoint: EmbeddingsEndpoint, request: pytest.FixtureRequest
    ) -> MakeEmbedder:
        from hmem.embed.remote import RemoteEmbedder

        return lambda: RemoteEmbedder(
            "any", base_url=endpoint.url, batch=50, encoding=request.param
        )


class TestHashEmbedder(EmbedderSuite):
    @pytest.fixture
    def make_embedder(self) -> MakeEmbedder:
        return HashEmbedder
