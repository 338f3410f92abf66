/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: the parts that front/ asks for (front_host.green_make and green_end), and what
 * differs of streams in them. */
#ifndef CLIENT_STREAM_GREEN_CONTEXT_H
#define CLIENT_STREAM_GREEN_CONTEXT_H

#include "api/cuda_names.h"
#include "front/front.h"

CUresult client_green_make(struct front_green *green);
CUresult client_green_end(const struct front_green *green);
CUresult client_green_record(const struct front_green *green, CUevent event);
CUresult client_green_wait(const struct front_green *green, CUevent event);
CUresult client_green_synchronize(const struct front_green *green);

#endif
