"""Checks the JSON Schema on standard input, and that the YAML files named validate by it, or, after
--bad, that they do not."""

import json
import sys

import yaml
from jsonschema import Draft202012Validator

schema = json.load(sys.stdin)
assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", schema["$schema"]
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)

bad = False
for name in sys.argv[1:]:
    if name == "--bad":
        bad = True
        continue
    with open(name) as file:
        errors = list(validator.iter_errors(yaml.safe_load(file)))
    assert bool(errors) == bad, f"{name}: {[error.message for error in errors]}"
