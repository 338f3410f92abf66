/* SPDX-License-Identifier: Apache-2.0 */
/* The table of texture and surface objects. */
#ifndef SOFTGPU_ENGINE_TEXTURE_OBJECTS_H
#define SOFTGPU_ENGINE_TEXTURE_OBJECTS_H

#include "softgpu/engine/texture.h"

/* The objects of one context; each of its launches names them (sg_launch.objects). A handle is
 * never 0 and never used again for another object of the process: kernels may hold old handles, or
 * handles of other contexts, and get a fault. One thread at a time adds and removes; kernels look
 * up without a lock. */
struct sg_objects;

/* NULL: no memory. */
struct sg_objects *sg_objects_create(void);

/* No kernel that uses them may run. */
void sg_objects_destroy(struct sg_objects *objects);

/* Copies *object. GA_NO_MEMORY (also: 2^20 objects), GA_INVALID (!sg_texels_are_right, or wrong
 * enums). */
GA_CHECKED enum ga_status sg_objects_add(struct sg_objects *objects, const struct sg_object *object,
                                         uint64_t *handle);

/* As sg_objects_add, with a given handle. GA_DENIED: an object here has it; GA_INVALID: also a
 * handle that no object can have. */
GA_CHECKED enum ga_status sg_objects_place(struct sg_objects *objects,
                                           const struct sg_object *object, uint64_t handle);

/* False: there is no such object. Kernels may run meanwhile: those that use the object fault or
 * finish with it; its memory is freed when no kernel of the context runs. */
bool sg_objects_remove(struct sg_objects *objects, uint64_t handle);

/* NULL: there is none. Called between sg_objects_use and sg_objects_leave, by any thread. */
const struct sg_object *sg_objects_find(const struct sg_objects *objects, uint64_t handle);

/* An object that sg_objects_find returns stays valid between these two calls. The engine calls them
 * around each grid; adding and removing need neither. `objects` may be NULL. */
void sg_objects_use(struct sg_objects *objects);
void sg_objects_leave(struct sg_objects *objects);

#endif
