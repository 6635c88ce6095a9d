"""A BERT encoder's forward pass in plain numpy, float32.

Tokens of many texts lie one after the other in one array, so that nothing is padded: the
dense layers see all tokens at once, attention sees the texts of one length at a time.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

# Phi(x) = 1 / (1 + exp(x * poly(x^2))), the normal distribution's integral, fitted by
# weighted least squares towards the least greatest error: 2.3e-7 as erf, in float32.
_PHI = tuple(
    np.float32(c)
    for c in (
        -1.5957698829268518,
        -0.072666169117296,
        6.518991295361868e-05,
        1.1061240542641076e-04,
        -7.929492503682917e-06,
        2.6452700036155757e-07,
        -3.512351227591489e-09,
    )
)
_SQUARE_CAP = np.float32(30.0)
_GELU_BLOCK = 16_384  # floats: two scratch blocks stay in the nearest caches


class Layer:
    """One transformer block; weights transposed once, the three projections fused."""

    def __init__(self, t: Mapping[str, Array], prefix: str, heads: int) -> None:
        attention = f"{prefix}.attention.self"
        scale = np.float32(1.0 / np.sqrt(t[f"{attention}.query.bias"].size // heads))
        self.qkv = _transposed(
            t[f"{attention}.query.weight"] * scale,
            t[f"{attention}.key.weight"],
            t[f"{attention}.value.weight"],
        )
        self.qkv_bias = np.concatenate(
            (
                t[f"{attention}.query.bias"] * scale,
                t[f"{attention}.key.bias"],
                t[f"{attention}.value.bias"],
            )
        )
        out = f"{prefix}.attention.output"
        self.out = _transposed(t[f"{out}.dense.weight"])
        self.out_bias = t[f"{out}.dense.bias"]
        self.norm1 = (t[f"{out}.LayerNorm.weight"], t[f"{out}.LayerNorm.bias"])
        self.up = _transposed(t[f"{prefix}.intermediate.dense.weight"])
        self.up_bias = t[f"{prefix}.intermediate.dense.bias"]
        self.down = _transposed(t[f"{prefix}.output.dense.weight"])
        self.down_bias = t[f"{prefix}.output.dense.bias"]
        norm2 = f"{prefix}.output.LayerNorm"
        self.norm2 = (t[f"{norm2}.weight"], t[f"{norm2}.bias"])


class Bert:
    """The encoder. Not thread-safe: its buffers are used again by each call."""

    def __init__(
        self,
        tensors: Mapping[str, Array],
        *,
        layers: int,
        heads: int,
        eps: float,
        max_tokens: int,
    ) -> None:
        """`max_tokens` bounds a call's tokens. KeyError for a tensor that is missing."""
        self.words = tensors["embeddings.word_embeddings.weight"]
        # All texts are of segment 0, so its vector belongs to the positions.
        self.positions = (
            tensors["embeddings.position_embeddings.weight"]
            + tensors["embeddings.token_type_embeddings.weight"][0]
        )
        self.norm = (
            tensors["embeddings.LayerNorm.weight"],
            tensors["embeddings.LayerNorm.bias"],
        )
        self.layers = [
            Layer(tensors, f"encoder.layer.{i}", heads) for i in range(layers)
        ]
        self.dim = self.words.shape[1]
        self.heads = heads
        self.eps = np.float32(eps)
        self.max_tokens = max_tokens
        wide = self.layers[0].up.shape[1]
        self._x, self._y = _buffer(max_tokens, self.dim), _buffer(max_tokens, self.dim)
        self._qkv = _buffer(max_tokens, 3 * self.dim)
        self._wide = _buffer(max_tokens, wide)
        self._gelu = (_buffer(_GELU_BLOCK), _buffer(_GELU_BLOCK))

    def encode(self, texts: Sequence[Sequence[int]]) -> Array:
        """Token ids of texts, shortest first -> (n, dim) unit rows, mean-pooled."""
        return _unit(_means(*self._states(texts)))

    def tokens(self, texts: Sequence[Sequence[int]]) -> list[Array]:
        """Token ids of texts, shortest first -> for each (tokens, dim) unit rows."""
        x, runs = self._states(texts)
        rows = _unit(x.copy())
        ends = np.cumsum([length for _, n, length in runs for _ in range(n)])
        return np.split(rows, ends[:-1])

    def _states(
        self, texts: Sequence[Sequence[int]]
    ) -> tuple[Array, list[tuple[int, int, int]]]:
        """(tokens, dim) of all texts' tokens, good until the next call, and their runs."""
        lengths = [len(ids) for ids in texts]
        total = sum(lengths)
        x, y = self._x[:total], self._y[:total]
        runs = _runs(lengths)
        np.take(self.words, np.concatenate(texts), axis=0, out=x)
        for start, n, length in runs:
            rows = x[start : start + n * length].reshape(n, length, self.dim)
            rows += self.positions[:length]
        _layer_norm(x, y, self.norm, self.eps)
        for layer in self.layers:
            self._block(layer, x, y, runs)
        return x, runs

    def _block(
        self, layer: Layer, x: Array, y: Array, runs: list[tuple[int, int, int]]
    ) -> None:
        """x <- the block's output. y is scratch of the same shape."""
        qkv = np.matmul(x, layer.qkv, out=self._qkv[: len(x)])
        qkv += layer.qkv_bias
        for start, n, length in runs:
            stop = start + n * length
            shape = (n, length, 3, self.heads, self.dim // self.heads)
            _attend(qkv[start:stop].reshape(shape), y[start:stop])
        # qkv is read; its front serves as scratch for the projection.
        flat = self._qkv.reshape(-1)[: x.size].reshape(x.shape)
        np.matmul(y, layer.out, out=flat)
        flat += layer.out_bias
        x += flat
        _layer_norm(x, y, layer.norm1, self.eps)
        wide = np.matmul(x, layer.up, out=self._wide[: len(x)])
        wide += layer.up_bias
        gelu(wide.reshape(-1), self._gelu)
        np.matmul(wide, layer.down, out=y)
        y += layer.down_bias
        x += y
        _layer_norm(x, y, layer.norm2, self.eps)


def gelu(x: Array, scratch: tuple[Array, Array]) -> None:
    """x <- x * Phi(x), flat, in place: the exact form, within 5e-7."""
    block = len(scratch[0])
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, len(x), block):
            part = x[start : start + block]
            square, p = scratch[0][: len(part)], scratch[1][: len(part)]
            np.multiply(part, part, out=square)
            np.minimum(square, _SQUARE_CAP, out=square)
            np.multiply(square, _PHI[-1], out=p)
            for c in _PHI[-2:0:-1]:
                p += c
                p *= square
            p += _PHI[0]
            p *= part
            np.exp(p, out=p)
            p += np.float32(1.0)
            part /= p


def _attend(qkv: Array, out: Array) -> None:
    """(n, length, 3, heads, size) -> out (n * length, heads * size)."""
    n, length, _, heads, size = qkv.shape
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = np.matmul(q.transpose(0, 2, 1, 3), k.transpose(0, 2, 3, 1))
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    target = out.reshape(n, length, heads, size).transpose(0, 2, 1, 3)
    np.matmul(scores, v.transpose(0, 2, 1, 3), out=target)


def _layer_norm(x: Array, y: Array, norm: tuple[Array, Array], eps: np.float32) -> None:
    """x <- normalised x, rows on their own. y is scratch."""
    x -= x.mean(axis=1, keepdims=True)
    np.multiply(x, x, out=y)
    deviation = y.mean(axis=1, keepdims=True)
    deviation += eps
    np.sqrt(deviation, out=deviation)
    x /= deviation
    x *= norm[0]
    x += norm[1]


def _means(x: Array, runs: list[tuple[int, int, int]]) -> Array:
    """The mean of each text's tokens."""
    return np.concatenate(
        [
            x[start : start + n * length].reshape(n, length, -1).mean(axis=1)
            for start, n, length in runs
        ]
    )


def _unit(rows: Array) -> Array:
    """Rows of length 1."""
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows


def _runs(lengths: list[int]) -> list[tuple[int, int, int]]:
    """(first token, texts, tokens per text) for each stretch of equal lengths."""
    runs: list[tuple[int, int, int]] = []
    start = 0
    for length, group in groupby(lengths):
        n = len(list(group))
        runs.append((start, n, length))
        start += n * length
    return runs


def _transposed(*weights: Array) -> Array:
    """Weights (out, in) side by side as one (in, out), contiguous for the BLAS."""
    return np.ascontiguousarray(np.concatenate(weights).T)


def _buffer(*shape: int) -> Array:
    return np.empty(shape, dtype=np.float32)
