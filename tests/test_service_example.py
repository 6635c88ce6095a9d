"""The README's web service serves, and keeps its users apart."""

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hmem import Config, Memory

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the example calls `app`, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```$", text, flags=re.S | re.M)
    (code,) = [code for code in found if "fastapi" in code]
    names: dict[str, Any] = {"__name__": "service"}
    exec(compile(code, "README.md", "exec"), names)
    return names["app"]


def test_what_is_posted_is_in_the_next_block_of_that_user_alone(app: Any) -> None:
    with TestClient(app) as client:
        said = [{"role": "user", "content": "I moved to Ghent."}]
        posted = client.post("/tom/messages", json=said)
        assert posted.status_code == 202
        receipt = posted.json()["receipt"]
        assert receipt
        block = client.get("/tom/context", params={"q": "where does he live?"}).json()
        assert "I moved to Ghent." in block["text"]
        assert len(block["citations"]) == 1
        other = client.get("/ann/context", params={"q": "where does he live?"}).json()
        assert (other["text"], other["citations"]) == ("", {})
    with Memory(Config(path="memories", worker="off", allow_degraded=True)) as mem:
        assert mem.receipt(receipt, user_id="tom").id == receipt


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            [{"role": "user", "content": "x", "timestmap": 1}],
            "did you mean 'timestamp'",
        ),
        ([{"role": "wizard", "content": "x"}], "messages[0] must have a role"),
        ([{"role": "user", "content": "x", "timestamp": "soon"}], "timestamp"),
    ],
)
def test_bad_input_is_the_client_s_fault_and_says_why(
    app: Any, body: Any, says: str
) -> None:
    with TestClient(app) as client:
        answer = client.post("/tom/messages", json=body)
        assert answer.status_code == 422
        assert says in answer.json()["detail"]
        assert client.get("/%20/context", params={"q": "x"}).status_code == 422
        assert client.post("/tom/messages", json={"messages": 5}).status_code == 422
