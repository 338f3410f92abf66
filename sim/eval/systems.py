# SPDX-License-Identifier: Apache-2.0
"""The systems that are compared, and the load at which that is done."""

# Calibrated on GRR-Rain / CUDA alone, then frozen: of the two alphas that fit, the greater one.
ALPHA = 0.6
ALPHA_TARGET = "GRR-Rain / CUDA = 2.16 (Strings, Fig. 9)"
# The papers say "a finite number". With 12, one for each processor, no alpha reaches the target.
NODE = {"node.0.threads": "64"}
FORWARD = {"run.forward": "20us"}

CUDA = {"run.isolation": "app", "run.balance": "first", "run.policy": "none"}
RAIN = {"run.isolation": "app", "run.balance": "grr_node", **FORWARD}
STRINGS = {"run.isolation": "packed", "run.balance": "grr_node", **FORWARD}
