/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_file.h"

Test(private_file, others_may_not_have_any_access)
{
    static const struct {
        mode_t mode;
        bool is_private;
    } cases[] = {{0600, true},  {0640, true},  {0660, true}, {0644, false},
                 {0604, false}, {0602, false}, {0601, false}};
    char path[] = "/tmp/gpuaas-private-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(fchmod(fd, cases[i].mode), 0);
        cr_assert_eq(ga_file_is_private(path), cases[i].is_private, "%o", cases[i].mode);
    }
    close(fd);
    unlink(path);
    cr_assert(ga_file_is_private(path), "there is none any more");
}

Test(private_file, what_is_no_token_is_seen_and_a_pipe_is_left_alone)
{
    char path[] = "/tmp/gpuaas-private-XXXXXX", in[64], text[16] = {0};
    int fd = mkstemp(path), ends[2];
    cr_assert(fd >= 0 && pipe(ends) == 0);
    cr_assert_eq(write(fd, "root:x:0:0", 10), 10);
    cr_assert(ga_file_lacks(path, GA_FILE_OF_TOKEN));
    cr_assert_eq(write(fd, "\ngpuaas_a_b", 11), 11);
    cr_assert_not(ga_file_lacks(path, GA_FILE_OF_TOKEN));
    unlink(path);
    cr_assert_not(ga_file_lacks(path, GA_FILE_OF_TOKEN), "there is none any more");
    cr_assert_eq(write(ends[1], "else", 4), 4);
    snprintf(in, sizeof in, "/proc/self/fd/%d", ends[0]);
    cr_assert_not(ga_file_lacks(in, GA_FILE_OF_TOKEN));
    cr_assert(read(ends[0], text, sizeof text) == 4 && strcmp(text, "else") == 0);
    close(fd);
    close(ends[0]);
    close(ends[1]);
}
