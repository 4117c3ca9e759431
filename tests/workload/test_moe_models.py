import json
from pathlib import Path

import pytest

from scalefab.errors import InputError
from scalefab.workload.models import FAMILIES, parse_model, read_model

MODELS = Path(__file__).parents[2] / "examples" / "models"


def config(**changed):
    """DeepSeek-V3's values, one key a line; a value of ... takes the key away."""
    values = json.loads((MODELS / "deepseek-v3.json").read_text()) | changed
    return json.dumps({key: value for key, value in values.items() if value is not ...}, indent=1)


def problems(text):
    with pytest.raises(InputError) as caught:
        parse_model(text, "m.json", "m")
    return [str(problem) for problem in caught.value.problems]


def line_of(text, key):
    return next(i for i, line in enumerate(text.splitlines(), 1) if f'"{key}"' in line)


@pytest.mark.parametrize(
    ("file", "facts"),
    [  # hidden, experts, top_k, MoE layers, layers, expert width, shared, groups, top groups: published
        ("deepseek-v3", (7168, 256, 8, 58, 61, 2048, 1, 8, 4)),
        ("qwen3-235b-a22b", (4096, 128, 8, 94, 94, 1536, 0, 1, 1)),
        ("mixtral-8x7b", (4096, 8, 2, 32, 32, 14336, 0, 1, 1)),
    ],
)
def test_examples(file, facts):
    m = read_model(MODELS / f"{file}.json")
    assert m.name == file
    found = (
        m.hidden,
        m.experts,
        m.top_k,
        m.moe_layers,
        m.layers,
        m.expert_intermediate,
        m.shared_experts,
        m.groups,
        m.top_groups,
    )
    assert found == facts


BASE = {"hidden_size": 2048, "num_hidden_layers": 24, "num_experts_per_tok": 4}
OTHERS = [
    ("qwen2_moe", {"num_experts": 60, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632}, (60, 24, 1408, 1)),
    ("qwen3_moe", {"num_experts": 64, "moe_intermediate_size": 768, "decoder_sparse_step": 2}, (64, 12, 768, 0)),
    ("qwen3_moe", {"num_experts": 64, "moe_intermediate_size": 768, "mlp_only_layers": [0, 5]}, (64, 22, 768, 0)),
    ("gpt_oss", {"num_local_experts": 128, "intermediate_size": 2880}, (128, 24, 2880, 0)),
    ("deepseek_v2", {"n_routed_experts": 64, "moe_intermediate_size": 1408, "first_k_dense_replace": 1}, (64, 23, 1408, 0)),
    (
        "deepseek_v2",
        {"n_routed_experts": 64, "moe_intermediate_size": 8, "moe_layer_freq": 2, "n_shared_experts": 2},
        (64, 12, 8, 2),
    ),
    ("kimi_k2", {"n_routed_experts": 384, "moe_intermediate_size": 2048, "n_group": 1, "topk_group": 1}, (384, 24, 2048, 0)),
]


@pytest.mark.parametrize(("model_type", "keys", "facts"), OTHERS)
def test_families(model_type, keys, facts):
    m = parse_model(json.dumps({"model_type": model_type} | BASE | keys), "c.json", "x")
    assert (m.experts, m.moe_layers, m.expert_intermediate, m.shared_experts) == facts
    assert m.model_type == model_type and m.top_k == 4


def test_every_family_is_tried():
    assert {name for name, _, _ in OTHERS} | {"deepseek_v3", "mixtral"} == set(FAMILIES)


def test_aliases():
    text = {"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 36, "num_experts": 128, "experts_per_token": 4}
    m = parse_model(json.dumps(text | {"intermediate_size": 2880}), "c.json", "x")
    assert (m.experts, m.top_k) == (128, 4)


def test_greedy_routing_has_no_groups():
    m = parse_model(config(topk_method="greedy"), "m.json", "m")
    assert (m.groups, m.top_groups) == (1, 1)


def test_a_config_json_is_named_by_its_folder(tmp_path):
    (tmp_path / "my-model").mkdir()
    file = tmp_path / "my-model" / "config.json"
    file.write_text(config())
    m = read_model(file)
    assert m.name == "my-model" and m.source_file == str(file)


@pytest.mark.parametrize(
    ("changed", "at", "expected"),
    [
        (
            {"num_experts_per_tok": ...},
            0,
            "m.json: num_experts_per_tok: is missing; expected num_experts_per_tok or experts_per_token",
        ),
        ({"num_experts_per_tok": "8"}, "num_experts_per_tok", '"8" is no whole number'),
        ({"n_routed_experts": True}, "n_routed_experts", "true is no whole number"),
        ({"hidden_size": 7168.0}, "hidden_size", "7168.0 is no whole number"),
        ({"hidden_size": 0}, "hidden_size", "0 is out of range; expected 1 or more"),
        ({"num_experts_per_tok": 300}, "num_experts_per_tok", "300 experts a token of 256"),
        ({"n_group": 7}, "n_group", "256 experts in 7 groups; expected equal groups"),
        ({"topk_group": 9}, "topk_group", "9 of 8 groups"),
        ({"n_group": 64, "topk_group": 1}, "num_experts_per_tok", "8 experts a token, but 1 groups hold only 4"),
        ({"first_k_dense_replace": 61}, "first_k_dense_replace", "none of the 61 layers has experts"),
        ({"model_type": "deepseek_v33"}, "model_type", "'deepseek_v33' is not known"),
        ({"model_type": 3}, "model_type", "3 is no text"),
    ],
)
def test_broken_values_name_file_line_and_key(changed, at, expected):
    text = config(**changed)
    (found,) = problems(text)
    assert expected in found
    if at:
        assert found.startswith(f"m.json:{line_of(text, at)}: {at}: ")


def test_a_misspelt_key_is_a_near_miss_with_its_line():
    text = config(num_experts_per_tok=..., num_expert_per_tok=8)
    (found,) = problems(text)
    assert found.endswith("did you mean 'num_expert_per_tok'?")
    assert found.startswith(f"m.json:{line_of(text, 'num_expert_per_tok')}: num_experts_per_tok: is missing")


def test_all_problems_come_at_once():
    assert len(problems(config(hidden_size=-1, num_hidden_layers="x", n_routed_experts=...))) == 3


def test_a_dense_model_says_so():
    (found,) = problems(json.dumps({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32}))
    assert "'llama' is a dense model: it has no experts" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{\n 'a': 1}", "m.json:2: is not JSON"),
        ("[1]", "m.json:1: is no object"),
        ("{}", "model_type: is missing"),
        ("[" * 100_000, "is not"),
        (config()[:-2] + ',\n "hidden_size": 5\n}', "hidden_size: stands there twice"),
    ],
)
def test_broken_files(text, expected):
    assert expected in problems(text)[0]


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_model(tmp_path / "none.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_model(tmp_path / "b.json")
    (tmp_path / "c.json").write_bytes(b" " * (5 << 20))
    with pytest.raises(InputError, match="larger than 4 MiB"):
        read_model(tmp_path / "c.json")
