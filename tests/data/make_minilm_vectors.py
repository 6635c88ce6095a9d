"""Computes minilm_vectors.json with torch and transformers, independently of hmem.

    pip install torch transformers numpy
    python tests/data/make_minilm_vectors.py FOLDER_WITH_THE_WEIGHTS

Two texts keep all 384 numbers, the others the first 48 and their dot products with two
fixed directions, so that the fixture stays small and no number goes unchecked.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

LONG = " ".join(
    f"On day {i} the gardener moved {i * 3} pots from shelf {i % 7} to the east window,"
    f" watered the basil, and wrote the temperature ({i % 30} degrees) into a blue book."
    for i in range(1, 16)
)
TEXTS = {
    "empty": "",
    "one word": "lighthouse",
    "short": "Who fixed the boiler?",
    "thirty-three tokens": (
        "My sister keeps two hens behind the bakery, and every Thursday she swaps a"
        " dozen eggs with the carpenter for firewood and gossip about the harbour."
    ),
    "accents and case": "Ångström, NAÏVE café — Žluťoučký kůň; l\u2019été à Besançon!",
    "other scripts": "東京の天気は晴れ。 Привет, как дела? नमस्ते दुनिया 🙂🙂 สวัสดี",
    "odd space and controls": "tab\tnewline\n zero\u200bwidth\u00a0nbsp \x07bell  end",
    "unknown word": "see " + "x" * 130 + " and then stop",
    "over the window": LONG,
}
WHOLE = ("short", "over the window")
FRONT = 48


def directions() -> np.ndarray:
    """Two fixed directions in which every number of a vector has its say."""
    i = np.arange(384, dtype=np.float64)
    return np.stack([np.cos(0.7 * i + 0.1), np.sin(1.3 * i * i + 0.4)])


def main() -> None:
    """Write the fixture."""
    folder = sys.argv[1]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    rows = []
    for name, text in TEXTS.items():
        batch = tokenizer(
            text, truncation=True, max_length=256, padding=False, return_tensors="pt"
        )
        with torch.no_grad():
            hidden = model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).float()
        mean = (hidden * mask).sum(1) / mask.sum(1)
        vector = torch.nn.functional.normalize(mean, dim=1)[0].double().numpy()
        rows.append(
            {
                "name": name,
                "text": text,
                "tokens": len(tokenizer(text, truncation=False)["input_ids"]),
                "vector": [
                    round(float(x), 8)
                    for x in (vector if name in WHOLE else vector[:FRONT])
                ],
                "sums": [round(float(x), 8) for x in directions() @ vector],
            }
        )
    path = Path(__file__).with_name("minilm_vectors.json")
    path.write_text(json.dumps(rows, ensure_ascii=True, indent=None) + "\n")


if __name__ == "__main__":
    main()
