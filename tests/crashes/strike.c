/* Strikes a process at one of its calls of the system on files of a folder: loaded before libc, so that the calls of
   Python, SQLite and Polars are counted alike. `strike(folder, place, second, number, signal)` arms it: the call at
   `place` fails with the error `number` (0: none), and the process gets `signal` (0: none) at `place` and `second`. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static atomic_long calls;
static long struck_at = -1, struck_again = -1;
static int error_number, signal_number;

void strike(const char *where, long place, long second, int number, int sent) {
    snprintf(folder, sizeof folder, "%s/", where);
    calls = 0;
    struck_at = place, struck_again = second, error_number = number, signal_number = sent;
}

long count_calls(void) { return calls; }

static int is_within(int at, const char *path) {
    char link[64], whole[PATH_MAX];
    if (!*folder) return 0;
    if (path && *path == '/') return !strncmp(path, folder, strlen(folder));
    if (at == AT_FDCWD) return path != 0; /* the process works in the folder */
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    ssize_t size = readlink(link, whole, sizeof whole - 2);
    if (size <= 0) return 0;
    memcpy(whole + size, "/", 2);
    return !strncmp(whole, folder, strlen(folder));
}

static int is_struck(int at, const char *path) {
    int kept = errno, within = is_within(at, path);
    errno = kept;
    if (!within) return 0;
    long number = calls++;
    if (signal_number && (number == struck_at || number == struck_again)) kill(getpid(), signal_number);
    if (!error_number || number != struck_at) return 0;
    errno = error_number;
    return 1;
}

#define CALL(kind, name, at, path, takes, gives)                                       \
    kind name takes {                                                                  \
        static kind(*real) takes;                                                      \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                          \
        return is_struck(at, path) ? (kind)-1 : real gives;                            \
    }
#define OPEN(name, at, takes, ...)                                                     \
    int name takes {                                                                   \
        static int (*real)(__VA_ARGS__, ...);                                          \
        va_list more;                                                                  \
        va_start(more, flags);                                                         \
        int mode = va_arg(more, int);                                                  \
        va_end(more);                                                                  \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                          \
        if (is_struck(at, path)) return -1;                                            \
        return
OPEN(open, AT_FDCWD, (const char *path, int flags, ...), const char *, int) real(path, flags, mode); }
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), const char *, int) real(path, flags, mode); }
OPEN(openat, at, (int at, const char *path, int flags, ...), int, const char *, int) real(at, path, flags, mode); }
OPEN(openat64, at, (int at, const char *path, int flags, ...), int, const char *, int) real(at, path, flags, mode); }
CALL(int, rename, AT_FDCWD, to, (const char *from, const char *to), (from, to))
CALL(int, renameat, there, to, (int here, const char *from, int there, const char *to), (here, from, there, to))
CALL(int, renameat2, there, to, (int here, const char *from, int there, const char *to, unsigned how),
     (here, from, there, to, how))
CALL(int, link, AT_FDCWD, to, (const char *from, const char *to), (from, to))
CALL(int, unlink, AT_FDCWD, path, (const char *path), (path))
CALL(int, unlinkat, at, path, (int at, const char *path, int how), (at, path, how))
CALL(int, mkdir, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
CALL(int, rmdir, AT_FDCWD, path, (const char *path), (path))
CALL(int, chmod, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
CALL(int, fchmod, fd, 0, (int fd, mode_t mode), (fd, mode))
CALL(int, truncate, AT_FDCWD, path, (const char *path, off_t size), (path, size))
CALL(int, ftruncate, fd, 0, (int fd, off_t size), (fd, size))
CALL(int, ftruncate64, fd, 0, (int fd, off64_t size), (fd, size))
CALL(int, fsync, fd, 0, (int fd), (fd))
CALL(int, fdatasync, fd, 0, (int fd), (fd))
CALL(int, flock, fd, 0, (int fd, int how), (fd, how))
CALL(ssize_t, write, fd, 0, (int fd, const void *from, size_t size), (fd, from, size))
CALL(ssize_t, pwrite, fd, 0, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
CALL(ssize_t, pwrite64, fd, 0, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at))
CALL(ssize_t, writev, fd, 0, (int fd, const struct iovec *from, int count), (fd, from, count))
CALL(ssize_t, read, fd, 0, (int fd, void *into, size_t size), (fd, into, size))
CALL(ssize_t, pread64, fd, 0, (int fd, void *into, size_t size, off64_t at), (fd, into, size, at))
CALL(ssize_t, sendfile, to, 0, (int to, int from, off_t *at, size_t size), (to, from, at, size))

DIR *opendir(const char *path) {
    static DIR *(*real)(const char *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "opendir");
    return is_struck(AT_FDCWD, path) ? 0 : real(path);
}
