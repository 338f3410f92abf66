/* The command `gpuaas`: starts a program so that it finds our client library and the servers. What
 * a reader would get wrong: it links nothing of the client library (which may be missing) and stays
 * out of the program's way altogether, for it is replaced by it (exec). */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/devices.h"

/* As env(1) and nohup(1) have them. */
enum { EXIT_USAGE = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static const char usage[] =
    "usage: gpuaas run [--servers LIST] [--devices LIST] [--compilers KIND] [--]\n"
    "                  PROGRAM [ARGUMENTS]\n"
    "       gpuaas devices [--servers LIST] [--devices LIST]\n"
    "       gpuaas --help | --version\n"
    "\n"
    "run: PROGRAM runs so that its CUDA calls go to gpuaas servers.\n"
    "devices: lists the devices that a program would see.\n"
    "\n"
    "  --servers LIST   HOST[:PORT],... ; without it, the environment's GPUAAS_SERVERS\n"
    "  --devices LIST   which of the servers' devices PROGRAM sees, and in which order: numbers\n"
    "                   from 0, or UUIDs; without it, the environment's GPUAAS_DEVICES, or all\n"
    "  --compilers KIND what nvrtc and nvJitLink of PROGRAM make: `machine` code, `ptx`, which is\n"
    "                   all that software GPUs run, or by `auto`, the default, what its GPUs need\n"
    "\n"
    "The devices of all servers of the list appear to PROGRAM one after another.\n"
    "GPUAAS_TRACE=summary in the environment prints at the end what the program's calls cost.\n"
    "\n"
    "Exit status: PROGRAM's own; 125 if the command line is wrong, 126 if PROGRAM cannot be run,\n"
    "127 if it cannot be found.\n";

struct run {
    const char *servers, *devices, *compilers; /* NULL: not given */
    char **program;                            /* NULL-terminated argument list */
};

/* Prints what is wrong and how to mend it. */
static int wrong(int status, const char *what, const char *subject, const char *cure)
{
    fprintf(stderr, "gpuaas: %s%s%s%s\n", what, subject, *cure ? "; " : "", cure);
    return status;
}

/* Takes the option `name` with its value, in one word or two, off the list. False: it is another
 * word, or has no value. */
static bool option_take(char ***words, const char *name, const char **value)
{
    const size_t length = strlen(name);

    if (strncmp(**words, name, length) != 0)
        return false;
    if ((**words)[length] == '=') {
        *value = **words + length + 1;
    } else if ((**words)[length] == 0 && (*words)[1]) {
        *value = *++*words;
    } else {
        return false;
    }
    ++*words;
    return true;
}

/* Returns 0, or the exit status after saying what is wrong. */
static int run_parse(char **words, struct run *run)
{
    *run = (struct run){0};
    while (*words && **words == '-') {
        if (!strcmp(*words, "--")) {
            words++;
            break;
        }
        if (!option_take(&words, "--servers", &run->servers) &&
            !option_take(&words, "--devices", &run->devices) &&
            !option_take(&words, "--compilers", &run->compilers)) {
            return wrong(EXIT_USAGE, "unknown option, or one without its value: ", *words,
                         "see gpuaas --help");
        }
    }
    if (run->compilers && strcmp(run->compilers, "auto") != 0 &&
        strcmp(run->compilers, "ptx") != 0 && strcmp(run->compilers, "machine") != 0) {
        return wrong(EXIT_USAGE, "--compilers does not know ", run->compilers,
                     "it takes auto, ptx or machine");
    }
    run->program = words;
    return 0;
}

/* The library lies beside this command: ../lib/gpuaas, in a build as in an installation. */
static bool library_folder(char *folder, size_t size)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length <= 0)
        return false;
    self[length] = 0;
    for (int up = 0; up < 2; up++) { /* the file's name, then bin */
        char *slash = strrchr(self, '/');
        if (!slash)
            return false;
        *slash = 0;
    }
    int written = snprintf(folder, size, "%s/lib/gpuaas", self);
    return written > 0 && (size_t)written < size;
}

/* What every command needs: the servers' names in the environment, and where the library is. The
 * exit status, or 0. */
static int prepare(const struct run *run, char *folder, char *library, size_t size)
{
    if ((run->servers && setenv("GPUAAS_SERVERS", run->servers, 1) != 0) ||
        (run->devices && setenv("GPUAAS_DEVICES", run->devices, 1) != 0))
        return wrong(EXIT_USAGE, "no memory for the environment", "", "");
    const char *servers = getenv("GPUAAS_SERVERS");
    if (!servers || !*servers)
        return wrong(EXIT_USAGE, "no servers are named", "",
                     "give --servers HOST[:PORT],... or set GPUAAS_SERVERS");
    if (!library_folder(folder, PATH_MAX))
        return wrong(EXIT_USAGE, "/proc/self/exe does not say where this command lies", "",
                     "is /proc mounted?");
    snprintf(library, size, "%s/libcuda.so.1", folder);
    if (access(library, R_OK) != 0)
        return wrong(EXIT_USAGE, "the client library cannot be read: ", library,
                     "it belongs in ../lib/gpuaas from this command's folder");
    return 0;
}

/* Adds to a list with colons between, in front or at its end. */
static bool add_to_list(const char *variable, const char *text, bool in_front)
{
    const char *before = getenv(variable);
    char *all;
    if (!before || !*before)
        return setenv(variable, text, 1) == 0;
    if (asprintf(&all, "%s:%s", in_front ? text : before, in_front ? before : text) < 0)
        return false;
    bool done = setenv(variable, all, 1) == 0;
    free(all);
    return done;
}

/* Adds one of our libraries to those that are loaded first, if it has been built. */
static bool preload(const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/jit/%s.so.%d", folder, name, JIT_CUDA_MAJOR) < 0)
        return false;
    bool done = access(path, R_OK) != 0 || add_to_list("LD_PRELOAD", path, false);
    free(path);
    return done;
}

/* Libraries that compile at run time shall keep PTX. CuPy, besides, has kernels of its own that
 * exist as machine code only, which this variable turns off, and keeps what it has compiled. */
static bool compile_to_ptx(const char *folder)
{
    char *cache = NULL;
    bool done = preload(folder, "libnvrtc") && preload(folder, "libnvJitLink") &&
                setenv("CUPY_ACCELERATORS", "", 0) == 0;
    const char *home = getenv("HOME");
    if (done && home && asprintf(&cache, "%s/.cupy/kernel_cache_ptx", home) >= 0)
        done = setenv("CUPY_CACHE_DIR", cache, 0) == 0;
    free(cache);
    return done;
}

static int run_program(char **words)
{
    struct run run;
    char folder[PATH_MAX], library[PATH_MAX + 32];

    int status = run_parse(words, &run);
    if (!status && !*run.program)
        status = wrong(EXIT_USAGE, "no program to run", "", "as in gpuaas run -- ./app");
    if (!status)
        status = prepare(&run, folder, library, sizeof library);
    if (status)
        return status;
    bool automatic = !run.compilers || strcmp(run.compilers, "auto") == 0;
    bool ptx = automatic ? gpuaas_devices_ptx_only(library) : strcmp(run.compilers, "ptx") == 0;
    if (automatic && ptx)
        fputs("gpuaas: software GPUs: libraries that compile at run time are made to keep PTX "
              "(--compilers)\n",
              stderr);
    if (!add_to_list("LD_LIBRARY_PATH", folder, true) || (ptx && !compile_to_ptx(folder)))
        return wrong(EXIT_USAGE, "no memory for the environment", "", "");
    execvp(run.program[0], run.program);
    int error = errno;
    fprintf(stderr, "gpuaas: %s: %s\n", run.program[0], strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static int list_devices(char **words)
{
    struct run run;
    char folder[PATH_MAX], library[PATH_MAX + 32];

    int status = run_parse(words, &run);
    if (!status && *run.program)
        status = wrong(EXIT_USAGE, "devices takes no argument ", *run.program, "");
    if (!status)
        status = prepare(&run, folder, library, sizeof library);
    return status ? status : gpuaas_devices_print(library);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";

    if (!strcmp(command, "run"))
        return run_program(argv + 2);
    if (!strcmp(command, "devices"))
        return list_devices(argv + 2);
    if (!strcmp(command, "--help") || !strcmp(command, "-h") || !strcmp(command, "help")) {
        fputs(usage, stdout);
        return 0;
    }
    if (!strcmp(command, "--version")) {
        puts("gpuaas " GPUAAS_VERSION);
        return 0;
    }
    if (!*command)
        fputs(usage, stderr);
    else
        wrong(EXIT_USAGE, "unknown command ", command, "see gpuaas --help");
    return EXIT_USAGE;
}
