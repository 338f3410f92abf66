/* SPDX-License-Identifier: Apache-2.0 */
/* Files that hold secrets: keys, tokens. */
#ifndef BASE_PRIVATE_FILE_H
#define BASE_PRIVATE_FILE_H

#include <stdbool.h>

/* Whether users other than its owner and its group have no access to the file. True if there is no
 * such file: whoever opens it says so. */
bool ga_file_is_private(const char *path);
/* Whether a regular file is there, and its first 64 KiB do not have this text: it is not what its
 * user thinks, and must be left as it is. False for a pipe: reading it would take its text away
 * from whoever uses it. Not for files of databases (store/store.h). */
bool ga_file_lacks(const char *path, const char *text);

#define GA_FILE_OF_KEY   "PRIVATE KEY-----"
#define GA_FILE_OF_TOKEN "gpuaas_"

#endif
