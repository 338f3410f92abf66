/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes instructions of clusters, elect, and those that only advise. */
#ifndef SOFTGPU_PTX_DECODE_CLUSTER_H
#define SOFTGPU_PTX_DECODE_CLUSTER_H

#include "softgpu/ptx/decode.h"

void sg_decode_barrier_cluster(struct sg_decoder *decoder);
void sg_decode_mapa(struct sg_decoder *decoder); /* and getctarank */
void sg_decode_elect(struct sg_decoder *decoder);
void sg_decode_advice(struct sg_decoder *decoder);
void sg_decode_createpolicy(struct sg_decoder *decoder);

#endif
