/* SPDX-License-Identifier: Apache-2.0 */
/* A graph with a node of each kind, and what belongs to it. */
#ifndef TESTS_ARGUMENTS_GOOD_GRAPH_H
#define TESTS_ARGUMENTS_GOOD_GRAPH_H

#include <stdint.h>

#include "api/cuda_names.h"

struct good_graph {
    uint64_t graph, child, clone, object;
    uint64_t kernel_node, copy_node, fill_node, host_node, record_node, wait_node, values_node;
    uint64_t empty_node, child_node;
};

/* 0 where nothing can be instantiated. */
uint64_t good_exec_make(CUgraph graph);
void good_graph_make(struct good_graph *made);

#endif
