/* What every server and client of loadgen uses: time, memory, and sockets on loopback. */
#ifndef LOADGEN_H
#define LOADGEN_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    MESSAGE_BYTES = 64,
    BLOCK_BYTES = 256 * 1024,
    EVENTS_PER_WAIT = 256,
    ACCEPTS_PER_TURN = 64,
    MAX_SAMPLES = 1 << 20,
    SOCKET_TIMEOUT_S = 10,
    BULK_TIMEOUT_S = 60,
    IDLE_HOLD_LIMIT_S = 120,
};

static const int64_t NS_PER_S = 1000000000;

static inline void fail(const char *what)
{
    fprintf(stderr, "loadgen: %s: %s\n", what, errno ? strerror(errno) : "unexpected end");
    exit(1);
}

static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static inline void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        fail("memory");
    return memory;
}

static inline void set_nodelay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static inline void set_timeout(int fd, int seconds)
{
    struct timeval limit = {.tv_sec = seconds};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static inline struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* A blocking connection with a time limit on each call, or -1. */
static inline int connect_to(int port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    set_timeout(fd, SOCKET_TIMEOUT_S);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    set_nodelay(fd);
    return fd;
}

static inline int send_all(int fd, const void *bytes, size_t size)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t sent = send(fd, next, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return -1;
        next += sent;
        size -= sent;
    }
    return 0;
}

static inline int receive_all(int fd, void *bytes, size_t size)
{
    errno = 0;
    return recv(fd, bytes, size, MSG_WAITALL) == (ssize_t)size ? 0 : -1;
}

static inline int ping(int fd)
{
    char message[MESSAGE_BYTES] = {0};
    return send_all(fd, message, sizeof message) || receive_all(fd, message, sizeof message) ? -1 : 0;
}

static inline void print_array(const char *name, const int64_t *values, int count)
{
    printf("\"%s\":[", name);
    for (int i = 0; i < count; i++)
        printf("%s%lld", i ? "," : "", (long long)values[i]);
    printf("]");
}

#endif
