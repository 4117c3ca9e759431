"""Hugging Face ``config.json`` of a mixture of experts -> `spec.MoeModel`: what one MoE layer asks of the network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import InputError, Problem
from .near import near_miss
from .spec import MoeModel

MAX_FILE_BYTES = 4 << 20  # a config.json has a few KiB
_LARGEST = 1 << 31

_HIDDEN = ("hidden_size",)
_LAYERS = ("num_hidden_layers",)
_EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts")
_TOP_K = ("num_experts_per_tok", "experts_per_token", "num_experts_per_token")
_INTERMEDIATE = ("moe_intermediate_size", "intermediate_size")


@dataclass(frozen=True, slots=True)
class Family:
    """Which keys a ``model_type`` uses beside those that all share; each tuple holds aliases, the usual one first."""

    experts: tuple[str, ...]
    intermediate: tuple[str, ...]
    shared: tuple[str, ...] = ()
    dense_first: tuple[str, ...] = ()
    every: tuple[str, ...] = ()  #: layer i is MoE if i is a multiple
    sparse_step: tuple[str, ...] = ()  #: layer i is MoE if i + 1 is a multiple
    dense_layers: tuple[str, ...] = ()
    grouped: bool = False


_DEEPSEEK = Family(
    ("n_routed_experts", "num_experts"),
    ("moe_intermediate_size",),
    shared=("n_shared_experts",),
    dense_first=("first_k_dense_replace",),
    every=("moe_layer_freq",),
    grouped=True,
)
_QWEN = Family(
    ("num_experts", "num_local_experts"),
    ("moe_intermediate_size",),
    sparse_step=("decoder_sparse_step",),
    dense_layers=("mlp_only_layers",),
)
_MIXTRAL = Family(("num_local_experts", "num_experts"), ("intermediate_size",))

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "deepseek_v2": _DEEPSEEK,
        "deepseek_v3": _DEEPSEEK,
        "kimi_k2": _DEEPSEEK,
        "qwen2_moe": _QWEN,
        "qwen3_moe": _QWEN,
        "mixtral": _MIXTRAL,
        "gpt_oss": _MIXTRAL,
    }
)
"""Model types that are understood (keys: Hugging Face transformers' configuration classes)."""


def read_model(path: str | Path) -> MoeModel:
    """Read a Hugging Face ``config.json``.

    Parameters
    ----------
    path
        The file. The model's name is the file's, or its folder's if the file is called ``config.json``.

    Raises
    ------
    InputError
        With every problem found: file, line, key, and the near miss of a misspelt key.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
        text = raw.decode("utf-8")
    except OSError as error:
        raise InputError([Problem(f"cannot be read ({error.strerror})", "a Hugging Face config.json", file=str(path))]) from error
    except UnicodeDecodeError as error:
        raise InputError([Problem("is not UTF-8 text", "a Hugging Face config.json", file=str(path))]) from error
    if len(raw) > MAX_FILE_BYTES:
        raise InputError([Problem(f"is larger than {MAX_FILE_BYTES >> 20} MiB", "a Hugging Face config.json", file=str(path))])
    name = file.parent.name if file.name == "config.json" else file.stem
    return parse_model(text, str(path), name)


def parse_model(text: str, file: str, name: str) -> MoeModel:
    """Read the text of a ``config.json``; ``file`` is for messages. Raises InputError as `read_model`."""
    return _Reader(text, file).model(name)


def model_problems(model: MoeModel, key: str = "") -> list[Problem]:
    """Return what does not fit together in a model's values; ``key`` is the prefix of the problems' keys."""
    dot = f"{key}." if key else ""
    problems = []
    for field in ("hidden", "experts", "top_k", "layers", "moe_layers", "expert_intermediate", "groups", "top_groups"):
        if getattr(model, field) < 1:
            problems.append(Problem(f"{field} is {getattr(model, field)}", "at least 1", key=dot + field))
    if problems:
        return problems
    if model.top_k > model.experts:
        problems.append(Problem(f"{model.top_k} experts a token of {model.experts}", f"1 .. {model.experts}", key=dot + "top_k"))
    if model.experts % model.groups:
        problems.append(Problem(f"{model.experts} experts in {model.groups} groups", "equal groups", key=dot + "groups"))
    elif model.top_groups > model.groups:
        problems.append(Problem(f"{model.top_groups} of {model.groups} groups", f"1 .. {model.groups}", key=dot + "top_groups"))
    elif model.top_k <= model.experts and model.top_k > model.top_groups * (model.experts // model.groups):
        most = model.top_groups * (model.experts // model.groups)
        message = f"{model.top_k} experts a token, but {model.top_groups} groups hold only {most}"
        problems.append(Problem(message, f"1 .. {most}", key=dot + "top_k"))
    return problems


class _Reader:
    """One ``config.json``: takes values by key, collecting problems with their lines."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.problems: list[Problem] = []
        self.values = self._parse()

    def _parse(self) -> dict[str, Any]:
        twice: list[str] = []

        def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
            seen: dict[str, Any] = {}
            for key, value in items:
                if key in seen:
                    twice.append(key)
                seen[key] = value
            return seen

        try:
            values = json.loads(self.text, object_pairs_hook=pairs)
        except json.JSONDecodeError as error:
            problem = Problem(f"is not JSON: {error.msg}", "a Hugging Face config.json", file=self.file, line=error.lineno)
            raise InputError([problem]) from error
        except (RecursionError, ValueError) as error:
            raise InputError([Problem("is not usable JSON", "a Hugging Face config.json", file=self.file)]) from error
        if not isinstance(values, dict):
            raise InputError([Problem("is no object", "a Hugging Face config.json", file=self.file, line=1)])
        for key in twice:
            self._fault(key, "stands there twice")
        return values

    def _line(self, key: str) -> int:
        found = re.search(r'"' + re.escape(key) + r'"\s*:', self.text)
        return self.text.count("\n", 0, found.start()) + 1 if found else 0

    def _fault(self, key: str, message: str, expected: str = "", near: str = "", at: str = "") -> None:
        self.problems.append(Problem(message, expected, near, self.file, self._line(at or near or key), key))

    def take(self, aliases: tuple[str, ...], default: int | None = None, least: int = 1) -> int:
        """Return the integer under the first alias that is there; a fault if it is not one, or missing without default."""
        for key in aliases:
            value = self.values.get(key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                self._fault(key, f"{json.dumps(value)[:40]} is no whole number", "a whole number")
                return least
            if not least <= value < _LARGEST:
                self._fault(key, f"{value} is out of range", f"{least} or more")
                return least
            return value
        if default is not None:
            return default
        unknown = [key for key in self.values if key not in _KNOWN]
        near = next((miss for miss in (near_miss(alias, unknown) for alias in aliases) if miss), "")
        self._fault(aliases[0], "is missing", " or ".join(aliases), near)
        return least

    def model(self, name: str) -> MoeModel:
        family, model_type = self._family()
        experts = self.take(family.experts)
        layers = self.take(_LAYERS)
        groups = top_groups = 1
        if family.grouped and self.values.get("topk_method") != "greedy":
            groups = self.take(("n_group",), 1)
            top_groups = self.take(("topk_group",), groups)
        model = MoeModel(
            name=name,
            model_type=model_type,
            hidden=self.take(_HIDDEN),
            experts=experts,
            top_k=self.take(_TOP_K),
            moe_layers=self._moe_layers(family, layers),
            layers=layers,
            expert_intermediate=self.take(family.intermediate),
            shared_experts=self._shared(family),
            groups=groups,
            top_groups=top_groups,
            source_file=self.file,
        )
        if not self.problems:
            keys = {"top_k": _TOP_K, "groups": ("n_group",), "top_groups": ("topk_group",), "moe_layers": family.dense_first}
            for problem in model_problems(model):
                aliases = keys.get(problem.key, (problem.key,))
                key = next((alias for alias in aliases if alias in self.values), problem.key)
                self._fault(key, problem.message, problem.expected)
        if self.problems:
            raise InputError(self.problems)
        return model

    def _family(self) -> tuple[Family, str]:
        model_type = self.values.get("model_type")
        known = ", ".join(FAMILIES)
        if not isinstance(model_type, str):
            near = near_miss("model_type", [key for key in self.values if key != "model_type"])
            missing = "is missing" if model_type is None else f"{json.dumps(model_type)[:40]} is no text"
            self._fault("model_type", missing, f"one of {known}", near)
            raise InputError(self.problems)
        if model_type not in FAMILIES:
            if not any(key in self.values for key in _EXPERTS):
                message = f"'{model_type}' is a dense model: it has no experts, so no dispatch and no combine"
                self._fault(
                    "model_type", message, f"a mixture of experts: {known}", near_miss(model_type, FAMILIES), at="model_type"
                )
            else:
                message = f"the model type '{model_type}' is not known"
                self._fault("model_type", message, f"one of {known}", near_miss(model_type, FAMILIES), at="model_type")
            raise InputError(self.problems)
        return FAMILIES[model_type], model_type

    def _shared(self, family: Family) -> int:
        if family.shared:
            return self.take(family.shared, 0, least=0)
        # Qwen2-MoE: one shared expert, told by its width
        return 1 if self.take(("shared_expert_intermediate_size",), 0, least=0) else 0

    def _moe_layers(self, family: Family, layers: int) -> int:
        first = self.take(family.dense_first, 0, least=0) if family.dense_first else 0
        every = self.take(family.every, 1) if family.every else 1
        step = self.take(family.sparse_step, 1) if family.sparse_step else 1
        dense: set[int] = set()
        for key in family.dense_layers:
            listed = self.values.get(key) or []
            if not isinstance(listed, list) or any(isinstance(i, bool) or not isinstance(i, int) for i in listed):
                self._fault(key, f"{json.dumps(listed)[:40]} is no list of layers", "a list of whole numbers")
            else:
                dense.update(listed)
        if layers > 1 << 16:
            self._fault("num_hidden_layers", f"{layers} is out of range", f"1 .. {1 << 16}")
            return 1
        moe = sum(1 for i in range(first, layers) if i % every == 0 and (i + 1) % step == 0 and i not in dense)
        if not moe and not self.problems:
            self._fault(
                (family.dense_first + family.sparse_step + _LAYERS)[0], f"none of the {layers} layers has experts", "at least one"
            )
            return 1
        return moe


_KNOWN = frozenset(
    [
        *(*_HIDDEN, *_LAYERS, *_EXPERTS, *_TOP_K, *_INTERMEDIATE, "n_shared_experts", "shared_expert_intermediate_size"),
        *("first_k_dense_replace", "moe_layer_freq", "decoder_sparse_step", "mlp_only_layers", "n_group", "topk_group"),
        "model_type",
    ]
)
