/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in the language of graphviz: the output for each flag. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/front.h"
#include "front/tests/fake_host.h"

static CUgraph graph;
static char path[] = "/tmp/gpuaas-dot-XXXXXX";

static void begin(void)
{
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void end(void)
{
    unlink(path);
}

TestSuite(graph_dot, .init = begin, .fini = end);

/* The output, valid until the next call. */
static const char *printed(unsigned flags)
{
    static char text[8192];
    cr_assert_eq(cuGraphDebugDotPrint(graph, path, flags), CUDA_SUCCESS);
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static unsigned times(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

Test(graph_dot, nodes_edges_and_what_is_asked_for)
{
    static int data;
    char wanted[100];
    CUDA_HOST_NODE_PARAMS host = {.fn = (CUhostFn)(uintptr_t)begin, .userData = &data};
    CUgraphNode nodes[3], inside;
    CUgraph child;
    cr_assert_eq(cuGraphCreate(&child, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddEmptyNode(&inside, child, NULL, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddEmptyNode(&nodes[0], graph, NULL, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddHostNode(&nodes[1], graph, &nodes[0], 1, &host), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddChildGraphNode(&nodes[2], graph, nodes, 2, child), CUDA_SUCCESS);
    const char *text = printed(0);
    cr_expect_eq(strncmp(text, "digraph \"graph_", 15), 0);
    cr_expect_str_eq(text + strlen(text) - 2, "}\n");
    cr_expect_eq(times(text, "EMPTY"), 2, "one of them in the child");
    cr_expect_eq(times(text, "HOST"), 1);
    cr_expect_eq(times(text, "subgraph"), 1);
    cr_expect_eq(times(text, " -> "), 3);
    cr_expect_eq(times(text, "function"), 0);
    cr_expect_eq(times(text, "node "), 0);
    cr_expect_eq(times(text, "label=\"0\""), 0);
    snprintf(wanted, sizeof wanted, "data %p", (void *)&data);
    static const struct {
        unsigned flags, hosts, handles, edges;
    } cases[] = {{CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS, 1, 0, 0},
                 {CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES, 0, 4, 0},
                 {CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO, 0, 0, 1},
                 {CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS, 0, 0, 0},
                 {CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE, 1, 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text = printed(cases[i].flags);
        cr_expect_eq(times(text, wanted), cases[i].hosts, "%zu: %s", i, text);
        cr_expect_eq(times(text, "\\nnode 0x"), cases[i].handles, "%zu: %s", i, text);
        cr_expect_eq(times(text, "[label=\"1\"]"), cases[i].edges, "%zu: %s", i, text);
    }
}

Test(graph_dot, what_cannot_be_written_is_said)
{
    cr_expect_eq(cuGraphDebugDotPrint(graph, "/nowhere/graph.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
    cr_expect_eq(cuGraphDebugDotPrint(graph, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuGraphDebugDotPrint(graph, path, 1u << 30), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuGraphDebugDotPrint(graph, "/dev/full", 0), CUDA_ERROR_OPERATING_SYSTEM);
}
