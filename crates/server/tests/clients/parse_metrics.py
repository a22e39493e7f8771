"""Reads Prometheus text from standard input with the parser of prometheus_client.

Writes one JSON object: the name, type and help of each family, and its samples by name and labels.
"""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

families = {}
for family in text_string_to_metric_families(sys.stdin.read()):
    samples = {}
    for sample in family.samples:
        labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
        samples[f"{sample.name}{{{labels}}}"] = sample.value
    families[family.name] = {
        "type": family.type,
        "help": family.documentation,
        "samples": samples,
    }
json.dump(families, sys.stdout)
