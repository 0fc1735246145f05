"""Engines with one wrong line in their arithmetic, and where each shows first."""

from typing import Final

from engine import layers, row
from engine.stages import Stage
from properties.spots import CACHED
from tests.first_places import At
from tests.slips import Slip

KEYS, VALUES = CACHED

_KEPT: Final = "rows.keys[:, self.position] = keys"
_PRODUCTS: Final = "np.matmul(queries, keys.transpose(0, 2, 1))"
_SUMS: Final = "weights /= np.add"

IN_ROWS: Final = (
    Slip(
        "reads the token before",
        row,
        "embedding[self.token_id]",
        "embedding[self.token_id - 1]",
        At(Stage.EMBEDDING, None),
    ),
    Slip(
        "reads the first block twice",
        row,
        "zip(weights.blocks,",
        "zip(2 * weights.blocks[:1],",
        At(Stage.ATTENTION_NORM, 1),
    ),
    Slip(
        "caches both blocks in the first",
        row,
        "self.prefix.blocks,",
        "2 * self.prefix.blocks[:1],",
        At(KEYS, head=0),
    ),
    Slip(
        "asks by the output's weights",
        row,
        "dot(block.query)",
        "dot(block.output)",
        At(Stage.QUERY, head=0),
    ),
    Slip(
        "takes keys for values",
        row,
        "dot(block.value)",
        "dot(block.key)",
        At(Stage.VALUE, head=0),
    ),
    Slip(
        "turns queries back",
        row,
        "rotate(queries, unit)",
        "rotate(queries, unit.conj())",
        At(Stage.QUERY_ROTATION, position=1, head=0),
    ),
    Slip(
        "turns no keys",
        row,
        "keys = rotate(keys, unit)",
        "keys = keys",
        At(Stage.KEY_ROTATION, position=1, head=0),
    ),
    Slip(
        "writes keys one position early",
        row,
        _KEPT,
        _KEPT.replace("position", "position - 1"),
        At(Stage.SCORES),  # of the first row, which is left foul: nothing comes
    ),
    Slip(
        "caches keys in half precision",
        row,
        _KEPT,
        f"{_KEPT}.astype('float16')",
        At(KEYS, head=0),
    ),
    Slip(
        "caches values turned",
        row,
        "rows.values[:, self.position] = values",
        "rows.values[:, self.position] = rotate(values, unit)",
        At(VALUES, position=1, head=0),
    ),
    Slip(
        "sees no newest key",
        row,
        "length = self.position + 1",
        "length = self.position or 1",
        At(Stage.SCORES, position=1),  # there are too few of them
    ),
    Slip(
        "mixes keys",
        row,
        "np.matmul(weights, rows.values",
        "np.matmul(weights, rows.keys",
        At(Stage.MIXTURE, head=0),
    ),
    Slip(
        "merges heads across",
        row,
        "mixture.reshape(",
        "mixture.transpose(1, 0, 2).reshape(",
        At(Stage.OUTPUT),
    ),
    Slip(
        "forgets the stream after attention",
        row,
        "x = x + mixed",
        "x = mixed",
        At(Stage.ATTENTION_RESIDUAL),
    ),
    Slip(
        "norms by the other gain",
        row,
        "rms_norm(x, block.ffn_norm,",
        "rms_norm(x, block.attention_norm,",
        At(Stage.FFN_NORM),
    ),
    Slip("takes up for gate", row, "dot(block.gate)", "dot(block.up)", At(Stage.GATE)),
    Slip("takes gate for up", row, "dot(block.up)", "dot(block.gate)", At(Stage.UP)),
    Slip("has no gate", row, "silu(gate) * up", "gate * up", At(Stage.PRODUCT)),
    Slip("projects up", row, "= product.dot(", "= up.dot(", At(Stage.DOWN)),
    Slip(
        "adds attention twice",
        row,
        "x = x + fed",
        "x = x + mixed",
        At(Stage.FFN_RESIDUAL),
    ),
    Slip(
        "counts epsilon twice at the end",
        row,
        "rms_norm(x, weights.final_norm, epsilon,",
        "rms_norm(x, weights.final_norm, 2 * epsilon,",
        At(Stage.FINAL_NORM, None),
    ),
    Slip(
        "reads logits from the stream",
        row,
        "embedding.dot(normed)",
        "embedding.dot(x)",
        At(Stage.LOGITS, None),
    ),
)

IN_LAYERS: Final = (
    Slip(
        "counts epsilon twice",
        layers,
        "/ len(x) + epsilon",
        "/ len(x) + 2 * epsilon",
        At(Stage.ATTENTION_NORM),
    ),
    Slip(
        "turns one position further",
        layers,
        "angles = position *",
        "angles = (position + 1) *",
        At(Stage.QUERY_ROTATION, head=0),
    ),
    Slip(
        "turns by half of the frequencies",
        layers,
        "/ -head_dim",
        "/ -(2 * head_dim)",
        At(Stage.QUERY_ROTATION, position=1, head=0),
    ),
    Slip(
        "scales by no root",
        layers,
        "/ math.sqrt(head_dim)",
        "/ head_dim",
        At(Stage.SCORES, head=0),
    ),
    Slip(
        "shares heads in turn",
        layers,
        _PRODUCTS,
        "np.matmul(queries.reshape(-1, len(keys), head_dim).transpose(1, 0, 2), "
        "keys.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(*queries.shape[:2], -1)",
        At(Stage.SCORES, head=1),
    ),
    Slip(
        "gives the newest key no weight",
        layers,
        _SUMS,
        f"weights[..., -1:] *= weights.shape[-1] == 1\n    {_SUMS}",
        At(Stage.WEIGHTS, position=1, head=0),
    ),
    Slip(
        "has weights that are no shares",
        layers,
        _SUMS,
        "weights *= 2.0\n    weights /= 1.0 + np.add",
        At(Stage.WEIGHTS, head=0),
    ),
    Slip(
        "gates by a sigmoid alone",
        layers,
        "numerator = gate * np.exp(",
        "numerator = np.exp(",
        At(Stage.PRODUCT),
    ),
)

(scales_by_no_root,) = (each for each in IN_LAYERS if each.name == "scales by no root")

_END: Final = ".reshape(config.n_kv_heads, -1, head_dim)"
_KEY: Final = "keys = normed.dot(block.key).reshape(config.n_kv_heads, head_dim)"

OF_ONE_NUMBER: Final = (
    Slip(
        "is off in one query",
        row,
        _END,
        f"{_END}\n        queries[1, 0, 3] += 0.5",
        At(Stage.QUERY, 0, 0, 2, 3),
    ),
    Slip(
        "is off in one key",
        row,
        _KEY,
        f"{_KEY}\n        keys[1, 2] += 0.5",
        At(Stage.KEY, 0, 0, 1, 2),
    ),
    Slip(
        "is off in one score",
        row,
        "self.scores_formed += scores.size",
        "self.scores_formed += scores.size\n        scores[1, 1, 1:] += 0.5",
        At(Stage.SCORES, 0, 1, 3, 1),
    ),
    Slip(
        "is off in one cached value",
        row,
        "rows.values[:, self.position] = values",
        "rows.values[:, self.position] = values\n        rows.values[1, 1:, 2] += 0.5",
        At(VALUES, 0, 1, 1, 2),
    ),
)
