/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of executable graphs. All functions want the process's lock held. */
#ifndef SOFTGPU_GRAPH_GRAPH_RUN_H
#define SOFTGPU_GRAPH_GRAPH_RUN_H

#include "softgpu/graph/graph.h"

CUresult sg_graph_launch(struct sg_graph_exec *exec, struct sg_stream *stream);

#endif
