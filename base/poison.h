/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that must not be used for now. In builds with AddressSanitizer a use ends the process;
 * elsewhere nothing is done. */
#ifndef BASE_POISON_H
#define BASE_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#define GA_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GA_POISONS 1
#endif
#endif

#ifdef GA_POISONS
#include <sanitizer/asan_interface.h>
#define GA_POISON(start, size)   ASAN_POISON_MEMORY_REGION((start), (size))
#define GA_UNPOISON(start, size) ASAN_UNPOISON_MEMORY_REGION((start), (size))
#else
#define GA_POISONS               0
#define GA_POISON(start, size)   ((void)(start), (void)(size))
#define GA_UNPOISON(start, size) ((void)(start), (void)(size))
#endif

#endif
