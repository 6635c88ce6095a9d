"""Every reranker passes the same suite."""

from collections.abc import Iterator

import pytest

from hmem.testing.fakes import WordReranker
from hmem.testing.rerank_endpoint import RerankEndpoint
from hmem.testing.reranker_suite import MakeReranker, RerankerSuite


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RerankEndpoint]:
    with RerankEndpoint() as endpoint:
        yield endpoint


class TestRemoteReranker(RerankerSuite):
    @pytest.fixture
    def make_reranker(self, endpoint: RerankEndpoint) -> MakeReranker:
        from hmem.rerank.remote import RemoteReranker

        return lambda: RemoteReranker("any", base_url=endpoint.url, batch=50)


@pytest.mark.model
class TestLocalReranker(RerankerSuite):
    @pytest.fixture
    def make_reranker(self) -> MakeReranker:
        from hmem.rerank.local import beside

        return lambda: beside(None)


class TestWordReranker(RerankerSuite):
    @pytest.fixture
    def make_reranker(self) -> MakeReranker:
        return WordReranker
