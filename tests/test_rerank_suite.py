"""Every reranker passes the same suite."""

from collections.abc import Iterator

import pytest

from hmem.embed.minilm import MiniLM
from hmem.testing.fakes import WordReranker
from hmem.testing.rerank_endpoint import RerankEndpoint
from hmem.testing.reranker_suite import MakeReranker, RerankerSuite


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RerankEndpoint]:
    with RerankEndpoint() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def weights() -> MiniLM:
    """Read once: they serve any number of event loops."""
    return MiniLM.load()


class TestRemoteReranker(RerankerSuite):
    @pytest.fixture
    def make_reranker(self, endpoint: RerankEndpoint) -> MakeReranker:
        from hmem.rerank.remote import RemoteReranker

        return lambda: RemoteReranker("any", base_url=endpoint.url, batch=50)


@pytest.mark.model
class TestLocalReranker(RerankerSuite):
    @pytest.fixture
    def make_reranker(self, weights: MiniLM) -> MakeReranker:
        from hmem.rerank.local import LocalReranker

        return lambda: LocalReranker(weights, owned=False)


class TestWordReranker(RerankerSuite):
    @pytest.fixture
    def make_reranker(self) -> MakeReranker:
        return WordReranker
