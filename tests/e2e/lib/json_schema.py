# SPDX-License-Identifier: Apache-2.0
"""As much of JSON Schema (draft 7) as docs/gpuaasctl.schema.json uses. A word that it does not know
is a mistake of the schema, so nothing goes unchecked."""

import re

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
         "null": type(None), "number": (int, float)}
NOTES = {"$schema", "title", "description", "definitions"}


def wrong(value, schema, root=None, path=""):
    """The first thing about `value` that the schema does not allow, or None."""
    root = root or schema
    found = (check(word, value, rule, schema, root, path) for word, rule in schema.items()
             if word not in NOTES)
    return next((text for text in found if text), None)


def is_type(value, name):
    return isinstance(value, TYPES[name]) and not (isinstance(value, bool) and name == "integer")


def one_of(value, rule, root, path):
    texts = [wrong(value, each, root, path) for each in rule]
    if texts.count(None) == 1:
        return None
    return f"{path}: fits {texts.count(None)} of {len(rule)}: {texts}"


def members(value, rule, schema, root, path):
    for name, each in value.items() if isinstance(value, dict) else ():
        if name not in schema.get("properties", {}):
            text = wrong(each, rule, root, f"{path}.{name}") if rule is not False else \
                f"{path}.{name}: is not known"
            if text:
                return text
    return None


def check(word, value, rule, schema, root, path):
    if word == "$ref":
        return wrong(value, root["definitions"][rule.rsplit("/", 1)[1]], root, path)
    if word == "oneOf":
        return one_of(value, rule, root, path)
    if word == "allOf":
        return next((text for text in (wrong(value, each, root, path) for each in rule) if text),
                    None)
    if word == "additionalProperties":
        return members(value, rule, schema, root, path)
    if word == "properties":
        texts = (wrong(value[name], each, root, f"{path}.{name}") for name, each in rule.items()
                 if isinstance(value, dict) and name in value)
        return next((text for text in texts if text), None)
    if word == "items":
        texts = (wrong(each, rule, root, f"{path}[{at}]") for at, each in enumerate(value)
                 if isinstance(value, list))
        return next((text for text in texts if text), None)
    names = rule if isinstance(rule, list) else [rule]
    fine = {"const": lambda: value == rule,
            "enum": lambda: value in rule,
            "type": lambda: any(is_type(value, name) for name in names),
            "required": lambda: not isinstance(value, dict) or set(rule) <= set(value),
            "minimum": lambda: not isinstance(value, int) or value >= rule,
            "pattern": lambda: not isinstance(value, str) or re.search(rule, value)}[word]()
    return None if fine else f"{path}: {value!r:.200} is not {word} {rule!r:.200}"
