/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as data: nodes, edges, copies, plans, updates. Executables are the fake host's. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "front/front.h"
#include "front/tests/fake_host.h"

static CUgraph graph;

static void begin(void)
{
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
}

TestSuite(graph, .init = begin);

static CUgraphNode add(CUgraph to, const CUgraphNode *after, size_t count)
{
    CUgraphNode node = NULL;
    cr_assert_eq(cuGraphAddEmptyNode(&node, to, after, count), CUDA_SUCCESS);
    return node;
}

static CUgraphNode add_host(CUgraph to, const CUgraphNode *after, size_t count, void *data)
{
    CUDA_HOST_NODE_PARAMS params = {.fn = (CUhostFn)(uintptr_t)begin, .userData = data};
    CUgraphNode node = NULL;
    cr_assert_eq(cuGraphAddHostNode(&node, to, after, count, &params), CUDA_SUCCESS);
    return node;
}

Test(graph, nodes_and_edges_come_back_in_order)
{
    CUgraphNode a = add(graph, NULL, 0), b = add(graph, &a, 1), list[5], from[4], to[4];
    CUgraphNode both[] = {a, b}, c = add(graph, both, 2);
    size_t count = 5;
    cr_assert_eq(cuGraphGetNodes(graph, list, &count), CUDA_SUCCESS);
    cr_assert(count == 3 && list[0] == a && list[1] == b && list[2] == c && list[3] == NULL);
    count = 5;
    cr_assert_eq(cuGraphGetRootNodes(graph, list, &count), CUDA_SUCCESS);
    cr_assert(count == 1 && list[0] == a);
    count = 4;
    cr_assert_eq(cuGraphGetEdges(graph, from, to, &count), CUDA_SUCCESS);
    cr_assert(count == 3 && from[0] == a && to[0] == b && from[2] == b && to[2] == c);
    cr_assert_eq(cuGraphGetEdges(graph, NULL, NULL, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 3);
    count = 1;
    cr_assert_eq(cuGraphNodeGetDependencies(c, list, &count), CUDA_SUCCESS);
    cr_assert(count == 1 && list[0] == a);
}

Test(graph, an_edge_is_there_once)
{
    CUgraphNode a = add(graph, NULL, 0), b = add(graph, NULL, 0), twice[] = {a, a};
    CUgraphNode node;
    size_t count;
    cr_assert_eq(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphAddDependencies(graph, &a, &a, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphAddEmptyNode(&node, graph, twice, 2), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphGetNodes(graph, NULL, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 2, "the node that could not be added is not there");
    cr_assert_eq(cuGraphRemoveDependencies(graph, &a, &b, 1), CUDA_SUCCESS);
    cr_assert_eq(cuGraphRemoveDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
}

Test(graph, of_several_edges_all_or_none_are_added)
{
    CUgraphNode a = add(graph, NULL, 0), b = add(graph, NULL, 0), c = add(graph, NULL, 0);
    const CUgraphNode from[] = {a, b, a}, to[] = {b, c, b};
    size_t count;
    cr_assert_eq(cuGraphAddDependencies(graph, from, to, 3), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphGetEdges(graph, NULL, NULL, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 0);
}

Test(graph, the_first_of_several_edges_may_go)
{
    CUgraphNode root = add(graph, NULL, 0), list[4];
    CUgraphNode leaves[3] = {add(graph, &root, 1), add(graph, &root, 1), add(graph, &root, 1)};
    CUgraphNode join = add(graph, leaves, 3);
    size_t count = 4;
    cr_assert_eq(cuGraphRemoveDependencies(graph, &root, &leaves[0], 1), CUDA_SUCCESS);
    cr_assert_eq(cuGraphNodeGetDependentNodes(root, list, &count), CUDA_SUCCESS);
    cr_assert(count == 2 && list[0] == leaves[1] && list[1] == leaves[2]);
    cr_assert_eq(cuGraphRemoveDependencies(graph, &leaves[1], &join, 1), CUDA_SUCCESS);
    count = 4;
    cr_assert_eq(cuGraphNodeGetDependencies(join, list, &count), CUDA_SUCCESS);
    cr_assert(count == 2 && list[0] == leaves[0] && list[1] == leaves[2]);
}

Test(graph, a_node_that_goes_takes_its_edges_along)
{
    CUgraphNode a = add(graph, NULL, 0), b = add(graph, &a, 1), c = add(graph, &b, 1);
    CUgraphNodeType type;
    size_t count;
    cr_assert_eq(cuGraphDestroyNode(b), CUDA_SUCCESS);
    cr_assert_eq(cuGraphNodeGetType(b, &type), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphNodeGetDependentNodes(a, NULL, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 0);
    cr_assert_eq(cuGraphNodeGetDependencies(c, NULL, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 0);
}

Test(graph, a_clone_is_independent_and_knows_its_originals)
{
    int one, two;
    CUgraphNode a = add_host(graph, NULL, 0, &one), b = add(graph, &a, 1), found, list[2];
    CUDA_HOST_NODE_PARAMS params;
    CUgraph clone;
    size_t count = 2;
    cr_assert_eq(cuGraphClone(&clone, graph), CUDA_SUCCESS);
    cr_assert_eq(cuGraphNodeFindInClone(&found, a, clone), CUDA_SUCCESS);
    cr_assert_neq(found, a);
    cr_assert_eq(cuGraphHostNodeGetParams(found, &params), CUDA_SUCCESS);
    cr_assert_eq(params.userData, &one);
    params.userData = &two;
    cr_assert_eq(cuGraphHostNodeSetParams(found, &params), CUDA_SUCCESS);
    cr_assert_eq(cuGraphHostNodeGetParams(a, &params), CUDA_SUCCESS);
    cr_assert_eq(params.userData, &one);
    cr_assert_eq(cuGraphNodeGetDependentNodes(found, list, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 1);
    cr_assert_eq(cuGraphNodeFindInClone(&found, b, clone), CUDA_SUCCESS);
    cr_assert_eq(list[0], found);
    cr_assert_eq(cuGraphDestroyNode(found), CUDA_SUCCESS);
    cr_assert_eq(cuGraphNodeFindInClone(&found, b, clone), CUDA_ERROR_INVALID_VALUE);
}

Test(graph, a_circle_is_found_when_it_is_instantiated)
{
    CUgraphNode a = add(graph, NULL, 0), b = add(graph, &a, 1), c = add(graph, &b, 1);
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    CUgraphExec exec;
    cr_assert_eq(cuGraphAddDependencies(graph, &c, &b, 1), CUDA_SUCCESS);
    cr_assert_eq(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    cr_assert(params.hErrNode_out == b || params.hErrNode_out == c);
}

/* Each node of a plan is behind those that it depends on. */
static void plan_expect_ordered(const struct front_plan *plan)
{
    for (unsigned i = 0; i < plan->count; i++) {
        cr_assert_eq(plan->nodes[i].number, i);
        for (unsigned j = 0; j < plan->nodes[i].after_count; j++) {
            cr_assert_lt(plan->nodes[i].after[j], i);
        }
    }
}

Test(graph, a_child_is_dissolved_in_the_plan)
{
    CUgraph child;
    CUgraphExec exec;
    CUgraphNode before = add_host(graph, NULL, 0, NULL), node, behind;
    cr_assert_eq(cuGraphCreate(&child, 0), CUDA_SUCCESS);
    (void)add_host(child, NULL, 0, NULL);
    (void)add_host(child, NULL, 0, NULL);
    cr_assert_eq(cuGraphAddChildGraphNode(&node, graph, &before, 1, child), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(child), CUDA_SUCCESS);
    behind = add_host(graph, &node, 1, NULL);
    cr_assert_eq(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    const struct front_plan *plan = fake_plan;
    cr_assert_eq(plan->count, 6); /* the four, and the two ends of the child */
    plan_expect_ordered(plan);
    cr_assert_eq(plan->nodes[0].params->type, CU_GRAPH_NODE_TYPE_HOST);
    cr_assert_eq(plan->nodes[1].params->type, CU_GRAPH_NODE_TYPE_EMPTY);
    cr_assert(plan->nodes[2].after_count == 1 && plan->nodes[2].after[0] == 1);
    cr_assert(plan->nodes[3].after_count == 1 && plan->nodes[3].after[0] == 1);
    cr_assert_eq(plan->nodes[4].after_count, 2);
    cr_assert(plan->nodes[5].after_count == 1 && plan->nodes[5].after[0] == 4);
    /* A node of the child is one of the executable. */
    CUgraphNode list[2];
    size_t count = 2;
    CUDA_HOST_NODE_PARAMS params = {.fn = (CUhostFn)(uintptr_t)begin, .userData = &count};
    cr_assert_eq(cuGraphChildGraphNodeGetGraph(node, &child), CUDA_SUCCESS);
    cr_assert_eq(cuGraphGetNodes(child, list, &count), CUDA_SUCCESS);
    cr_assert_eq(cuGraphExecHostNodeSetParams(exec, list[1], &params), CUDA_SUCCESS);
    cr_assert_eq(fake_set_number, 3);
    cr_assert_eq(plan->nodes[3].params->host.userData, &count);
    cr_assert_eq(cuGraphDestroyNode(behind), CUDA_SUCCESS);
    cr_assert_eq(cuGraphExecHostNodeSetParams(exec, behind, &params), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

Test(graph, an_executable_takes_what_changed_of_a_graph_of_its_shape)
{
    int one, two;
    CUgraphNode a = add_host(graph, NULL, 0, &one), same;
    CUgraph other;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    (void)add_host(graph, &a, 1, &one);
    cr_assert_eq(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphCreate(&other, 0), CUDA_SUCCESS);
    same = add_host(other, NULL, 0, &one);
    CUgraphNode last = add_host(other, &same, 1, &two);
    fake_sets = 0;
    cr_assert_eq(cuGraphExecUpdate_v2(exec, other, &info), CUDA_SUCCESS);
    cr_assert_eq(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    cr_assert_eq(fake_sets, 1, "only what is new is told");
    cr_assert_eq(fake_plan->nodes[1].params->host.userData, &two);
    cr_assert_eq(cuGraphRemoveDependencies(other, &same, &last, 1), CUDA_SUCCESS);
    cr_assert_eq(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    cr_assert_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    cr_assert_eq(cuGraphDestroyNode(last), CUDA_SUCCESS);
    last = add(other, &same, 1);
    cr_assert_eq(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    cr_assert_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    cr_assert_eq(info.errorNode, last);
    cr_assert_eq(cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

static void destroy(void *data)
{
    ++*(int *)data;
    cr_assert_eq(cuGraphDestroy(graph), CUDA_ERROR_NOT_PERMITTED);
}

Test(graph, user_objects_live_as_long_as_what_uses_them)
{
    int destroyed = 0;
    CUuserObject object;
    CUgraph clone;
    CUgraphExec exec;
    (void)add(graph, NULL, 0);
    cr_assert_eq(cuUserObjectCreate(&object, &destroyed, destroy, 1, 1), CUDA_SUCCESS);
    cr_assert_eq(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
                 CUDA_SUCCESS);
    cr_assert_eq(cuGraphClone(&clone, graph), CUDA_SUCCESS);
    cr_assert_eq(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(clone), CUDA_SUCCESS);
    cr_assert_eq(destroyed, 0);
    cr_assert_eq(cuGraphExecDestroy(exec), CUDA_SUCCESS);
    cr_assert_eq(destroyed, 1);
    cr_assert_eq(cuUserObjectRetain(object, 1), CUDA_ERROR_INVALID_VALUE);
}

Test(graph, all_user_objects_go_with_the_last_that_uses_them)
{
    int destroyed[3] = {0};
    for (int i = 0; i < 3; i++) {
        CUuserObject object;
        cr_assert_eq(cuUserObjectCreate(&object, &destroyed[i], destroy, 1, 1), CUDA_SUCCESS);
        cr_assert_eq(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
                     CUDA_SUCCESS);
    }
    cr_assert_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
    cr_assert(destroyed[0] == 1 && destroyed[1] == 1 && destroyed[2] == 1);
}

Test(graph, edges_that_older_calls_cannot_tell_are_a_lossy_query)
{
    CUDA_KERNEL_NODE_PARAMS params = {.func = FAKE_FUNCTION,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1};
    const CUgraphEdgeData early = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                   .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    CUgraphNode a, b, c = add(graph, NULL, 0), list[2];
    CUgraphEdgeData data[2];
    size_t count = 2;
    cr_assert_eq(cuCtxSetCurrent(FAKE_EXPLICIT), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddKernelNode_v2(&a, graph, NULL, 0, &params), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddKernelNode_v2(&b, graph, NULL, 0, &params), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddDependencies_v2(graph, &a, &b, &early, 1), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddDependencies_v2(graph, &a, &c, &early, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphNodeGetDependencies(b, list, &count), CUDA_ERROR_LOSSY_QUERY);
    count = 2;
    cr_assert_eq(cuGraphNodeGetDependencies_v2(b, list, data, &count), CUDA_SUCCESS);
    cr_assert(count == 1 && data[0].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    cr_assert_eq(cuGraphRemoveDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphRemoveDependencies_v2(graph, &a, &b, &early, 1), CUDA_SUCCESS);
}

Test(graph, conditions_belong_to_one_node_each)
{
    CUgraphConditionalHandle handle;
    CUgraphNode node, inner;
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS said = {0};
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    cr_assert_eq(cuCtxSetCurrent(FAKE_EXPLICIT), CUDA_SUCCESS);
    cr_assert_eq(cuGraphConditionalHandleCreate(&handle, graph, NULL, 1, 1), CUDA_SUCCESS);
    uint64_t root = fake_condition_graph;
    cr_assert_eq(cuGraphInstantiateWithParams(&exec, graph, &said), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq((int)said.result_out, 5, "a handle without a node");
    params.conditional.handle = handle;
    params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    params.conditional.size = 1;
    cr_assert_eq(cuGraphAddNode(&node, graph, NULL, 0, &params), CUDA_SUCCESS);
    CUgraph body = params.conditional.phGraph_out[0];
    cr_assert_eq(cuGraphAddNode(&inner, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    CUDA_HOST_NODE_PARAMS host = {.fn = (CUhostFn)(uintptr_t)begin};
    cr_assert_eq(cuGraphAddHostNode(&inner, body, NULL, 0, &host), CUDA_ERROR_INVALID_VALUE);
    (void)add(body, NULL, 0);
    cr_assert_eq(cuGraphDestroy(body), CUDA_ERROR_INVALID_VALUE);
    CUgraph clone;
    cr_assert_eq(cuGraphClone(&clone, graph), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    cr_assert_eq(fake_plan->nodes[0].body_count, 1);
    cr_assert_eq(fake_plan->nodes[0].bodies[0].count, 1);
    cr_assert_eq(fake_plan->nodes[0].bodies[0].nodes[0].number, 1);
    CUgraphExec second;
    cr_assert_eq(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphExecDestroy(exec), CUDA_SUCCESS);
    cr_assert_eq(fake_conditions, 1);
    cr_assert_eq(cuGraphConditionalHandleCreate(&handle, body, NULL, 1, 1), CUDA_SUCCESS);
    cr_assert_eq(fake_condition_graph, root, "a body is of the graph around it");
    cr_assert_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
    cr_assert_eq(fake_conditions, 0);
}
