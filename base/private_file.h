/* SPDX-License-Identifier: Apache-2.0 */
/* Files that hold secrets: keys, tokens. */
#ifndef BASE_PRIVATE_FILE_H
#define BASE_PRIVATE_FILE_H

#include <stdbool.h>

/* Whether users other than its owner and its group have no access to the file. True if there is no
 * such file: whoever opens it says so. */
bool ga_file_is_private(const char *path);

#endif
