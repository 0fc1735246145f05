"""Texts that are no script: what to replace in one that is, and what is then named."""

from typing import Final

CALL: Final = '{"call":"reset"}'
WRONG: Final = {
    "no JSON": ("}]}", "}]", "EOF"),
    "another version": ('"version":1', '"version":2', "version: "),
    "a version as text": ('"version":1', '"version":"1"', "version: "),
    "an unknown field": ('"version":1', '"version":1,"later":0', "later: Extra"),
    "no weights": ('"weights":{"seed":0},', "", "weights: Field required"),
    "no calls": (f'"calls":[\n  {CALL}]', '"faults":[]', "calls: Field required"),
    "a seed of 65 bits": ('"seed":0', f'"seed":{2**64}', "weights.seed: "),
    "a negative seed": ('"seed":0', '"seed":-1', "weights.seed: "),
    "a seed that is no integer": ('"seed":0', '"seed":0.0', "weights.seed: "),
    "a seed as text": ('"seed":0', '"seed":"0"', "weights.seed: "),
    "a seed that is true": ('"seed":0', '"seed":true', "weights.seed: "),
    "an infinite scale": (
        *('"seed":0', '"seed":0,"scale":Infinity'),
        "weights.scale: Input should be a finite number",
    ),
    "an overflowing scale": (
        *('"seed":0', '"seed":0,"scale":1e999'),
        "weights.scale: Input should be a finite number",
    ),
    "a scale that is no number": (
        *('"seed":0', '"seed":0,"scale":NaN'),
        "weights.scale: Input should be a finite number",
    ),
    "a scale of nothing": (
        *('"seed":0', '"seed":0,"scale":0.0'),
        "weights.scale: Input should be greater than 0",
    ),
    "a spread below nothing": (
        *('"seed":0', '"seed":0,"gain_spread":-5e-324'),
        "weights.gain_spread: Input should be greater than or equal to 0",
    ),
    "an unknown call": (CALL, '{"call":"fly"}', "calls.0: "),
    "a call without its name": (CALL, "{}", "calls.0: Unable to extract tag"),
    "an unknown field of a call": (
        *(CALL, '{"call":"reset","when":0}'),
        "calls.0.reset.when: Extra",
    ),
    "a negative cache": (CALL, '{"call":"reset","cache":-1}', "calls.0.reset.cache: "),
    "a token that is no integer": (
        *(CALL, '{"call":"decode","token_id":1.0}'),
        "calls.0.decode.token_id",
    ),
    "a token as text": (
        *(CALL, '{"call":"prefill","prompt":[0,"1"]}'),
        "calls.0.prefill.prompt.1",
    ),
    "a token beyond 1024 bits": (
        *(CALL, f'{{"call":"decode","token_id":{2**1024 + 1}}}'),
        "calls.0.decode.token_id",
    ),
    "a token below as many": (
        *(CALL, f'{{"call":"decode","token_id":{-(2**1024) - 1}}}'),
        "calls.0.decode.token_id",
    ),
    "no token": (CALL, '{"call":"decode"}', "calls.0.decode.token_id: Field required"),
    "nothing rebuilt": (
        *(CALL, '{"call":"bind rebuilt","rebuilt":[]}'),
        "calls.0.bind rebuilt.rebuilt: ",
    ),
    "five counters": (
        *(CALL, '{"call":"new cache","work":[0,0,0,0,0]}'),
        "calls.0.new cache.work",
    ),
    "an unknown flaw": (
        *(CALL, '{"call":"step","flaw":{"kind":"odd"}}'),
        "calls.0.step.flaw.kind: ",
    ),
    "an infinite temperature": (
        *(
            CALL,
            '{"call":"generate","prompt":[0],"sampling":{"temperature":1e999,"k":1}}',
        ),
        "calls.0.generate.sampling.temperature",
    ),
    "a config that is none": ('"d_ff":1', '"d_ff":0', "config"),
    "a config with text": ('"d_ff":1', '"d_ff":"1"', "config.d_ff: "),
    "a config without a field": ('"d_ff":1,', "", "config.d_ff: "),
    "an unknown fault": (
        *(f"{CALL}]", f'{CALL}],"faults":[{{"call":0,"point":0,"raises":"Fire"}}]'),
        "faults.0.raises: ",
    ),
}
