/* SPDX-License-Identifier: Apache-2.0 */
/* The log that programs read by cuLogs*: errors and warnings of the library, and what kernels of a
 * server's software GPUs have done wrong. */
#ifndef FRONT_CORE_LOG_H
#define FRONT_CORE_LOG_H

/* From now on errors and warnings of this library go there, too. Idempotent. */
void front_log_begin(void);
#endif
