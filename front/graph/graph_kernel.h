/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel nodes as launches. */
#ifndef FRONT_GRAPH_GRAPH_KERNEL_H
#define FRONT_GRAPH_GRAPH_KERNEL_H

#include "front/graph/graph.h"

/* The launch configuration of a kernel node in the stream. It points to the node's attributes. */
CUlaunchConfig front_kernel_node_config(const struct front_kernel_node *kernel, CUstream stream);

#endif
