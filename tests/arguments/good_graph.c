/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as arguments: one with a node of each kind, and its executable. */
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "tests/arguments/good.h"
#include "tests/arguments/good_graph.h"
#include "tests/arguments/structs.h"
#include "tests/arguments/table.h"

#define HANDLE(from) ((uint64_t)(uintptr_t)(from))
#define PASSED(name) structs_##name()

uint64_t new_graph(void)
{
    CUgraph graph;
    MUST(driver.cuGraphCreate(&graph, 0));
    return HANDLE(graph);
}

uint64_t new_dead_graph(void)
{
    uint64_t graph = new_graph();
    MUST(driver.cuGraphDestroy((CUgraph)graph));
    return graph;
}

uint64_t new_node(void)
{
    CUgraphNode node;
    MUST(driver.cuGraphAddEmptyNode(&node, (CUgraph)good_graph(), NULL, 0));
    return HANDLE(node);
}

uint64_t new_dead_node(void)
{
    uint64_t node = new_node();
    MUST(driver.cuGraphDestroyNode((CUgraphNode)node));
    return node;
}

uint64_t good_exec_make(CUgraph graph)
{
    CUgraphExec exec;
    CUresult rc = driver.cuGraphInstantiateWithFlags(&exec, graph, 0);
    if (rc == CUDA_ERROR_NOT_SUPPORTED) {
        return 0;
    }
    MUST(rc);
    return HANDLE(exec);
}

uint64_t new_exec(void)
{
    return good_exec_make((CUgraph)good_clone());
}

uint64_t new_dead_exec(void)
{
    uint64_t exec = new_exec();
    if (exec != 0) {
        MUST(driver.cuGraphExecDestroy((CUgraphExec)exec));
    }
    return exec;
}

static void destroy(void *data)
{
    (void)data;
}

uint64_t new_object(void)
{
    CUuserObject object;
    MUST(driver.cuUserObjectCreate(&object, NULL, destroy, 1000000,
                                   CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return HANDLE(object);
}

uint64_t new_dead_object(void)
{
    uint64_t object = new_object();
    MUST(driver.cuUserObjectRelease((CUuserObject)object, 1000000));
    return object;
}

/* Room for that many nodes and edges, as the program says it. */
/* Calls write how much of it they have used: not the same for all that are made at once. */
uint64_t new_room(void)
{
    static size_t rooms[16];
    static unsigned turn;
    size_t *room = &rooms[turn++ % 16];
    *room = 100;
    return HANDLE(room);
}

/* Two nodes of the graph without an edge, and then with one. */
static CUgraphNode pair[2];

uint64_t new_pair_from(void)
{
    pair[0] = (CUgraphNode)new_node();
    return HANDLE(&pair[0]);
}

uint64_t new_pair_to(void)
{
    pair[1] = (CUgraphNode)new_node();
    return HANDLE(&pair[1]);
}

uint64_t new_joined_to(void)
{
    (void)new_pair_to();
    MUST(driver.cuGraphAddDependencies((CUgraph)good_graph(), &pair[0], &pair[1], 1));
    return HANDLE(&pair[1]);
}

#define ADD(kind, node, ...)                                                                       \
    MUST(driver.cuGraphAdd##kind##Node((CUgraphNode *)(void *)&made->node, graph, NULL, 0,         \
                                       __VA_ARGS__))

static void make_nodes(CUgraph graph, struct good_graph *made)
{
    CUcontext context = (CUcontext)good_context();
    MUST(driver.cuGraphAddKernelNode_v2((CUgraphNode *)(void *)&made->kernel_node, graph, NULL, 0,
                                        PASSED(node_kernel)));
    ADD(Memcpy, copy_node, PASSED(flat_box), context);
    /* Behind the other: both write the block. */
    MUST(driver.cuGraphAddMemsetNode((CUgraphNode *)(void *)&made->fill_node, graph,
                                     (CUgraphNode *)(void *)&made->copy_node, 1, PASSED(node_fill),
                                     context));
    ADD(Host, host_node, PASSED(node_host));
    ADD(EventRecord, record_node, (CUevent)good_event());
    ADD(EventWait, wait_node, (CUevent)good_event());
    ADD(BatchMemOp, values_node, PASSED(node_values));
    MUST(driver.cuGraphAddEmptyNode((CUgraphNode *)(void *)&made->empty_node, graph, NULL, 0));
    ADD(ChildGraph, child_node, (CUgraph)made->child);
}

void good_graph_make(struct good_graph *made)
{
    CUgraphNode node;
    CUgraph graph, clone;
    made->child = new_graph();
    MUST(driver.cuGraphAddEmptyNode(&node, (CUgraph)made->child, NULL, 0));
    graph = (CUgraph)new_graph();
    made->graph = HANDLE(graph);
    make_nodes(graph, made);
    MUST(driver.cuGraphClone(&clone, graph));
    made->clone = HANDLE(clone);
    made->object = new_object();
    MUST(driver.cuGraphRetainUserObject(graph, (CUuserObject)made->object, 10000, 0));
}
