/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph of a kernel: finds recursive functions and the deepest stack of frames. A call
 * through a pointer may reach every function whose address is used, so one more node stands between
 * those calls and those functions. Tarjan's algorithm; components come out callees first. */
#include "softgpu/ptx/call_graph.h"

#include "softgpu/ptx/decode.h"

#include <string.h>

#define FRAME_UNIT               64
#define CALL_GRAPH_FUNCTIONS_MAX 2000 /* the depth-first search is recursive, on our own stack */
#define DEEPEST_MAX              (UINT64_C(1) << 28)

struct node {
    uint32_t first, count; /* of its edges */
    uint32_t order, low;   /* order 0: not seen yet */
    bool stacked, calls_itself;
    uint64_t frame, deepest; /* deepest: bytes of frames below this node, without recursion */
};

struct graph {
    struct sg_decoder *decoder;
    struct node *nodes;
    uint32_t count, hub, last_order;
    uint32_t *edges; /* callees, node after node */
    uint32_t *stack, stacked;
};

uint64_t sg_frame_bytes(const struct sg_func_info *info)
{
    uint64_t bytes =
        (info->func->frame_bytes + info->extra_bytes + FRAME_UNIT - 1) / FRAME_UNIT * FRAME_UNIT;
    return bytes == 0 && !info->func->entry ? FRAME_UNIT : bytes;
}

static bool is_pointed_to(const struct graph *g, uint32_t slot)
{
    const struct sg_ptx_func *func = g->decoder->funcs.items[slot].func;
    return func->pointer && !func->entry;
}

/* Caller and callee of call `i`; false: the callee has no frame. */
static bool edge_of(const struct graph *g, uint32_t i, uint32_t *from, uint32_t *to)
{
    uint32_t target = g->decoder->calls.items[i].target;
    *from = g->decoder->callers.items[i];
    *to = target == SG_CALL_BY_POINTER ? g->hub : target;
    return target != 0; /* slot 0 is the kernel, and means a function of the run time here */
}

static void collect_edges(struct graph *g)
{
    const struct sg_decoder *decoder = g->decoder;
    uint32_t from, to, total = 0;
    for (uint32_t i = 0; i < decoder->calls.count; i++) {
        if (edge_of(g, i, &from, &to)) {
            g->nodes[from].count++;
        }
    }
    for (uint32_t s = 0; s < g->hub; s++) {
        g->nodes[g->hub].count += is_pointed_to(g, s);
    }
    for (uint32_t n = 0; n < g->count; n++) {
        g->nodes[n].first = total;
        total += g->nodes[n].count;
        g->nodes[n].count = 0;
    }
    g->edges =
        sg_load_alloc(decoder->load, &decoder->load->scratch, (total + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < decoder->calls.count; i++) {
        if (edge_of(g, i, &from, &to)) {
            g->edges[g->nodes[from].first + g->nodes[from].count++] = to;
        }
    }
    for (uint32_t s = 0; s < g->hub; s++) {
        if (is_pointed_to(g, s)) {
            g->edges[g->nodes[g->hub].first + g->nodes[g->hub].count++] = s;
        }
    }
}

/* `root` and the nodes above it on the stack form a component. */
static void finish_component(struct graph *g, uint32_t root)
{
    uint32_t begin = g->stacked;
    uint64_t frames = 0, below = 0;
    do {
        frames += g->nodes[g->stack[--begin]].frame;
    } while (g->stack[begin] != root);
    for (uint32_t i = begin; i < g->stacked; i++) {
        const struct node *node = &g->nodes[g->stack[i]];
        for (uint32_t e = 0; e < node->count; e++) {
            const struct node *callee = &g->nodes[g->edges[node->first + e]];
            below = callee->deepest > below ? callee->deepest : below; /* 0 within the component */
        }
    }
    bool circle = g->stacked - begin > 1;
    for (uint32_t i = begin; i < g->stacked; i++) {
        struct node *node = &g->nodes[g->stack[i]];
        node->stacked = false;
        node->calls_itself |= circle;
    }
    for (uint32_t i = begin; i < g->stacked; i++) {
        g->nodes[g->stack[i]].deepest = frames + below;
    }
    g->stacked = begin;
}

static void visit(struct graph *g, uint32_t n)
{
    struct node *node = &g->nodes[n];
    node->order = node->low = ++g->last_order;
    node->stacked = true;
    g->stack[g->stacked++] = n;
    for (uint32_t e = 0; e < node->count; e++) {
        uint32_t to = g->edges[node->first + e];
        const struct node *callee = &g->nodes[to];
        node->calls_itself |= to == n;
        if (!callee->order) {
            visit(g, to);
            node->low = callee->low < node->low ? callee->low : node->low;
        } else if (callee->stacked) {
            node->low = callee->order < node->low ? callee->order : node->low;
        }
    }
    if (node->low == node->order) {
        finish_component(g, n);
    }
}

void sg_call_graph(struct sg_decoder *decoder)
{
    struct graph g = {
        .decoder = decoder, .hub = decoder->funcs.count, .count = decoder->funcs.count + 1};
    struct sg_place place = decoder->funcs.items[0].func->place;
    if (decoder->funcs.count > CALL_GRAPH_FUNCTIONS_MAX) {
        sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, place,
                     "a kernel that reaches more than %d functions is not supported",
                     CALL_GRAPH_FUNCTIONS_MAX);
    }
    g.nodes = sg_load_alloc(decoder->load, &decoder->load->scratch, g.count * sizeof *g.nodes);
    g.stack = sg_load_alloc(decoder->load, &decoder->load->scratch, g.count * sizeof *g.stack);
    for (uint32_t s = 0; s < decoder->funcs.count; s++) {
        g.nodes[s].frame = sg_frame_bytes(&decoder->funcs.items[s]);
    }
    collect_edges(&g);
    visit(&g, 0);
    if (g.nodes[0].deepest > DEEPEST_MAX) {
        sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, place,
                     "a kernel with more than 256 MiB of local memory per thread is not supported");
    }
    decoder->code->kernel.local_bytes = (uint32_t)g.nodes[0].deepest;
    decoder->code->frame_bytes = (uint32_t)g.nodes[0].frame;
    for (uint32_t s = 0; s < decoder->funcs.count; s++) {
        decoder->funcs.items[s].recursive = g.nodes[s].calls_itself;
        decoder->code->recursive |= g.nodes[s].calls_itself;
    }
}
