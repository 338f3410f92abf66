/* SPDX-License-Identifier: Apache-2.0 */
/* Events of other processes by descriptors (api/driver_open.h). */
#ifndef SOFTGPU_CALLS_IPC_H
#define SOFTGPU_CALLS_IPC_H

#include "api/cuda_names.h"

CUresult sg_call_event_export(CUevent event, int *fd);
CUresult sg_call_event_import(int fd, CUevent *event);

#endif
