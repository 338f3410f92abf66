/* SPDX-License-Identifier: Apache-2.0 */
/* The counter alone, so that a program that captures nothing links nothing of capture. */
#include "front/capture/capture_count.h"

atomic_uint front_capture_count;
