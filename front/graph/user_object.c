/* SPDX-License-Identifier: Apache-2.0 */
/* User objects: data of the program that lives as long as graphs that refer to it. The
 * destructor runs in the thread that released the last reference, and may make no CUDA call. */
#include "front/graph/user_object.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "front/graph/graph_model.h"

#define OBJECTS_MAX 1048576u

struct front_user_object {
    struct ga_list in_dying;
    uint64_t handle;
    CUhostFn destroy;
    void *data;
    uint64_t references; /* of the program and of graphs together */
};

/* Under the graphs' lock. */
static struct ga_handle_table objects;
static struct ga_list dying;

static struct front_user_object *user_object_find(CUuserObject handle)
{
    return ga_handle_table_find(&objects, (uint64_t)(uintptr_t)handle);
}

static void user_object_drop(struct front_user_object *object, unsigned count)
{
    object->references -= count;
    if (object->references == 0) {
        (void)ga_handle_table_remove(&objects, object->handle);
        ga_list_append(&dying, &object->in_dying);
    }
}

void front_objects_take(struct ga_list *taken)
{
    ga_list_init(taken);
    if (dying.next == NULL) {
        ga_list_init(&dying);
    }
    ga_list_each (at, following, &dying) {
        ga_list_remove(at);
        ga_list_append(taken, at);
    }
}

void front_objects_end(struct ga_list *taken)
{
    ga_list_each (at, following, taken) {
        struct front_user_object *object = ga_container(at, struct front_user_object, in_dying);
        const struct front_host_call call = {.function = object->destroy, .data = object->data};
        front_host_call_run(&call, CUDA_SUCCESS);
        free(object);
    }
}

/* ---- references of graphs ---- */

static CUresult user_object_keep(struct front_graph *graph, struct front_user_object *object,
                                 unsigned count)
{
    for (unsigned i = 0; i < graph->object_count; i++) {
        if (graph->objects[i].object == object) {
            graph->objects[i].count += count;
            return CUDA_SUCCESS;
        }
    }
    struct front_kept_object *kept =
        realloc(graph->objects, (graph->object_count + 1) * sizeof *kept);
    if (kept == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    graph->objects = kept;
    kept[graph->object_count++] = (struct front_kept_object){object, count};
    return CUDA_SUCCESS;
}

/* A copy of a graph has one reference to each object. */
CUresult front_objects_copy(const struct front_graph *from, struct front_graph *to)
{
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < from->object_count; i++) {
        rc = user_object_keep(to, from->objects[i].object, 1);
        from->objects[i].object->references += rc == CUDA_SUCCESS;
    }
    return rc;
}

void front_objects_drop(struct front_graph *graph)
{
    for (unsigned i = 0; i < graph->object_count; i++) {
        user_object_drop(graph->objects[i].object, graph->objects[i].count);
    }
    free(graph->objects);
    graph->objects = NULL;
    graph->object_count = 0;
}

/* ---- the calls ---- */

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                                    unsigned int initialRefcount, unsigned int flags)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (object_out == NULL || destroy == NULL || initialRefcount == 0 ||
        initialRefcount > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (objects.limit == 0) {
        ga_handle_table_init(&objects, GA_HANDLE_USER_OBJECT, OBJECTS_MAX);
    }
    struct front_user_object *made = calloc(1, sizeof *made);
    if (made == NULL || ga_handle_table_make(&objects, made, &made->handle) != GA_OK) {
        free(made);
        return front_graph_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->destroy = destroy;
    made->data = ptr;
    made->references = initialRefcount;
    *object_out = (CUuserObject)(uintptr_t)made->handle;
    return front_graph_leave(CUDA_SUCCESS);
}

static bool count_good(unsigned count)
{
    return count != 0 && count <= INT_MAX;
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_user_object *found = user_object_find(object);
    if (found == NULL || !count_good(count)) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    found->references += count;
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_user_object *found = user_object_find(object);
    if (found == NULL || !count_good(count) || count > found->references) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    user_object_drop(found, count);
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                         unsigned int flags)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_graph *keeper = front_graph_find(graph);
    struct front_user_object *found = user_object_find(object);
    bool moves = flags == CU_GRAPH_USER_OBJECT_MOVE;
    if (keeper == NULL || found == NULL || !count_good(count) || (flags != 0 && !moves) ||
        (moves && count > found->references)) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = user_object_keep(keeper, found, count);
    if (rc == CUDA_SUCCESS && !moves) {
        found->references += count;
    }
    return front_graph_leave(rc);
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_graph *keeper = front_graph_find(graph);
    const struct front_user_object *found = user_object_find(object);
    rc = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; keeper != NULL && found != NULL && i < keeper->object_count; i++) {
        struct front_kept_object *kept = &keeper->objects[i];
        if (kept->object == found && count_good(count) && count <= kept->count) {
            user_object_drop(kept->object, count);
            kept->count -= count;
            if (kept->count == 0) {
                *kept = keeper->objects[--keeper->object_count];
            }
            rc = CUDA_SUCCESS;
            break;
        }
    }
    return front_graph_leave(rc);
}
