/* Servers and clients for the benchmarks, fast enough not to be what is measured.
 *
 *   loadgen echo | sink | source                   a server on a free port of 127.0.0.1; prints {"port":N}
 *   loadgen connect PORT SECONDS PARALLEL rst|fin  connect, echo 64 bytes, close; as often as it goes
 *   loadgen bulk    PORT BYTES                     send so many bytes to a sink, wait for its receipt
 *   loadgen pace    PORT CONNECTIONS RATE SECONDS  64-byte messages at fixed times, RTT of each
 *   loadgen idle    PORT CONNECTIONS               open, hold until stdin closes, prove that all still live
 *   loadgen rate    PORT SECONDS                   read from a source; when did how many bytes come?
 *
 * Every client prints one line of JSON (idle prints two) and gives raw samples rather than figures:
 * the arithmetic is Python's, where it is tested. Time is CLOCK_MONOTONIC in nanoseconds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "loadgen.h"

/* ---- servers ---- */

static int listen_anywhere(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 4096) != 0)
        fail("listen");
    getsockname(fd, (struct sockaddr *)&address, &length);
    printf("{\"port\":%d}\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        fail("epoll_ctl");
}

static void accept_some(int epoll, int listener)
{
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return;
        set_nodelay(fd);
        watch(epoll, fd);
    }
}

/* Messages are small, so a send that would block means a client that no longer reads: it is cut off. */
static void echo_once(int fd)
{
    static char block[BLOCK_BYTES];
    ssize_t size = recv(fd, block, sizeof block, MSG_DONTWAIT);
    if (size <= 0 || send(fd, block, size, MSG_NOSIGNAL | MSG_DONTWAIT) != size)
        close(fd);
}

static void serve_echo(void)
{
    struct epoll_event events[EVENTS_PER_WAIT];
    int epoll = epoll_create1(EPOLL_CLOEXEC), listener = listen_anywhere();
    /* accept_some accepts until nothing is left, and must not wait for more */
    fcntl(listener, F_SETFL, O_NONBLOCK);
    watch(epoll, listener);
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS_PER_WAIT, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener)
                accept_some(epoll, listener);
            else
                echo_once(events[i].data.fd);
        }
    }
}

/* Reads an 8-byte count, throws that many bytes away, and answers with one byte. */
static void *sink_connection(void *argument)
{
    int fd = (int)(intptr_t)argument;
    int64_t wanted = 0, got = 0;
    if (receive_all(fd, &wanted, sizeof wanted) == 0) {
        while (got < wanted) {
            /* MSG_TRUNC drops the bytes in the kernel: copying them would be the sink's cost, not the relay's */
            ssize_t size = recv(fd, NULL, 1 << 20, MSG_TRUNC);
            if (size <= 0)
                break;
            got += size;
        }
        if (got == wanted)
            send_all(fd, "k", 1);
    }
    close(fd);
    return NULL;
}

static void *source_connection(void *argument)
{
    static char block[BLOCK_BYTES];
    int fd = (int)(intptr_t)argument;
    while (send_all(fd, block, sizeof block) == 0)
        continue;
    close(fd);
    return NULL;
}

static void serve_with_threads(void *(*serve_one)(void *))
{
    int listener = listen_anywhere();
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        pthread_t thread;
        if (fd < 0)
            continue;
        set_nodelay(fd);
        set_timeout(fd, BULK_TIMEOUT_S);
        if (pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd) == 0)
            pthread_detach(thread);
        else
            close(fd);
    }
}

/* ---- connect: how dear is a new connection? ---- */

struct connect_worker {
    pthread_t thread;
    int port;
    int reset;
    int64_t end_ns;
    int64_t made;
    int64_t failed;
};

static void *connect_repeatedly(void *argument)
{
    struct connect_worker *worker = argument;
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    while (now_ns() < worker->end_ns) {
        int fd = connect_to(worker->port);
        if (fd < 0 || ping(fd) != 0)
            worker->failed++;
        else
            worker->made++;
        if (fd < 0)
            continue;
        /* RST leaves no TIME_WAIT behind, so that a long run does not run out of ports */
        if (worker->reset)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
    }
    return NULL;
}

static void run_connect(int port, double seconds, int parallel, const char *how_to_close)
{
    struct connect_worker *workers = allocate(parallel, sizeof *workers);
    int64_t start_ns = now_ns(), made = 0, failed = 0;
    for (int i = 0; i < parallel; i++) {
        workers[i].port = port;
        workers[i].reset = strcmp(how_to_close, "rst") == 0;
        workers[i].end_ns = start_ns + (int64_t)(seconds * NS_PER_S);
        if (pthread_create(&workers[i].thread, NULL, connect_repeatedly, &workers[i]) != 0)
            fail("thread");
    }
    for (int i = 0; i < parallel; i++) {
        pthread_join(workers[i].thread, NULL);
        made += workers[i].made;
        failed += workers[i].failed;
    }
    printf("{\"made\":%lld,\"failed\":%lld,\"elapsed_ns\":%lld}\n", (long long)made, (long long)failed,
           (long long)(now_ns() - start_ns));
}

/* ---- bulk: how fast do many bytes go through? ---- */

static void run_bulk(int port, int64_t bytes)
{
    static char block[BLOCK_BYTES];
    int fd = connect_to(port);
    int64_t start_ns = now_ns(), left = bytes;
    char receipt;
    if (fd < 0)
        fail("connect");
    set_timeout(fd, BULK_TIMEOUT_S);
    if (send_all(fd, &bytes, sizeof bytes) != 0)
        fail("send");
    for (; left > 0; left -= BLOCK_BYTES)
        if (send_all(fd, block, left < BLOCK_BYTES ? left : BLOCK_BYTES) != 0)
            fail("send");
    if (receive_all(fd, &receipt, 1) != 0)
        fail("receipt");
    printf("{\"bytes\":%lld,\"elapsed_ns\":%lld}\n", (long long)bytes, (long long)(now_ns() - start_ns));
}

/* ---- pace: round trips of messages sent at fixed times ---- */

/* Each message carries the instant of its sending, so that many may be under way on one connection and
 * a slow relay cannot slow the schedule down (no coordinated omission). */
struct message {
    int64_t sent_ns;
    char filling[MESSAGE_BYTES - sizeof(int64_t)];
};

struct pacer {
    int epoll;
    int timer;
    int connections;
    int *fds;
    struct message *partial; /* per connection: a message that has come in part */
    size_t *partial_bytes;
    int64_t start_ns;
    int64_t period_ns;
    int total;
    int sent;
    int received;
    int64_t *at_ns;
    int64_t *rtt_ns;
};

static void open_connections(struct pacer *pacer, int port)
{
    for (int i = 0; i < pacer->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        pacer->fds[i] = connect_to(port);
        if (pacer->fds[i] < 0 || epoll_ctl(pacer->epoll, EPOLL_CTL_ADD, pacer->fds[i], &event) != 0)
            fail("connect");
    }
}

/* The first message of a connection pays for the relay's own connect; it is not measured. */
static void warm_up(struct pacer *pacer)
{
    struct message message = {0};
    for (int i = 0; i < pacer->connections; i++)
        if (send_all(pacer->fds[i], &message, sizeof message) != 0)
            fail("warm-up send");
    for (int i = 0; i < pacer->connections; i++)
        if (receive_all(pacer->fds[i], &message, sizeof message) != 0)
            fail("warm-up receive");
}

static void arm_timer(struct pacer *pacer)
{
    int64_t due_ns = pacer->start_ns + pacer->period_ns * pacer->sent;
    struct itimerspec when = {.it_value = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S}};
    timerfd_settime(pacer->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void send_what_is_due(struct pacer *pacer)
{
    struct message message = {0};
    while (pacer->sent < pacer->total && now_ns() >= pacer->start_ns + pacer->period_ns * pacer->sent) {
        message.sent_ns = now_ns();
        if (send_all(pacer->fds[pacer->sent % pacer->connections], &message, sizeof message) != 0)
            fail("send");
        pacer->sent++;
    }
    if (pacer->sent < pacer->total)
        arm_timer(pacer);
}

static void record(struct pacer *pacer, int64_t sent_ns, int64_t arrived_ns)
{
    if (pacer->received < pacer->total) {
        pacer->at_ns[pacer->received] = sent_ns - pacer->start_ns;
        pacer->rtt_ns[pacer->received] = arrived_ns - sent_ns;
    }
    pacer->received++;
}

static void receive_replies(struct pacer *pacer, int index)
{
    char *partial = (char *)&pacer->partial[index];
    for (;;) {
        size_t have = pacer->partial_bytes[index];
        ssize_t size = recv(pacer->fds[index], partial + have, MESSAGE_BYTES - have, MSG_DONTWAIT);
        int64_t arrived_ns = now_ns();
        if (size < 0 && errno == EAGAIN)
            return;
        errno = 0;
        if (size <= 0)
            fail("a connection ended");
        pacer->partial_bytes[index] = (have + size) % MESSAGE_BYTES;
        if (have + size == MESSAGE_BYTES)
            record(pacer, pacer->partial[index].sent_ns, arrived_ns);
    }
}

static void pace_until(struct pacer *pacer, int64_t end_ns)
{
    const uint32_t timer_mark = UINT32_MAX;
    struct epoll_event events[EVENTS_PER_WAIT], timer_event = {.events = EPOLLIN, .data.u32 = timer_mark};
    if (epoll_ctl(pacer->epoll, EPOLL_CTL_ADD, pacer->timer, &timer_event) != 0)
        fail("timer");
    arm_timer(pacer);
    while (pacer->received < pacer->total && now_ns() < end_ns) {
        int count = epoll_wait(pacer->epoll, events, EVENTS_PER_WAIT, 100);
        /* Replies first: a reply that waits for our own sending would look like a slow relay. */
        for (int i = 0; i < count; i++)
            if (events[i].data.u32 != timer_mark)
                receive_replies(pacer, events[i].data.u32);
        for (int i = 0; i < count; i++)
            if (events[i].data.u32 == timer_mark) {
                uint64_t expirations;
                if (read(pacer->timer, &expirations, sizeof expirations) > 0)
                    send_what_is_due(pacer);
            }
    }
}

static void run_pace(int port, int connections, double rate, double seconds)
{
    int total = (int)(rate * seconds);
    struct pacer pacer = {
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
        .connections = connections,
        .fds = allocate(connections, sizeof(int)),
        .partial = allocate(connections, sizeof(struct message)),
        .partial_bytes = allocate(connections, sizeof(size_t)),
        .period_ns = (int64_t)(NS_PER_S / rate),
        .total = total,
        .at_ns = allocate(total, sizeof(int64_t)),
        .rtt_ns = allocate(total, sizeof(int64_t)),
    };
    open_connections(&pacer, port);
    warm_up(&pacer);
    pacer.start_ns = now_ns() + NS_PER_S / 20;
    pace_until(&pacer, pacer.start_ns + (int64_t)((seconds + SOCKET_TIMEOUT_S) * NS_PER_S));
    printf("{\"sent\":%d,\"received\":%d,", pacer.sent, pacer.received);
    print_array("at_ns", pacer.at_ns, pacer.received);
    printf(",");
    print_array("rtt_ns", pacer.rtt_ns, pacer.received);
    printf("}\n");
}

/* ---- idle: what does a silent connection weigh? ---- */

static void run_idle(int port, int connections)
{
    int *fds = allocate(connections, sizeof(int));
    int opened = 0, alive = 0;
    char ignored;
    for (; opened < connections; opened++) {
        fds[opened] = connect_to(port);
        if (fds[opened] < 0 || ping(fds[opened]) != 0)
            break;
    }
    printf("{\"opened\":%d}\n", opened);
    fflush(stdout);
    alarm(IDLE_HOLD_LIMIT_S);
    while (read(STDIN_FILENO, &ignored, 1) > 0)
        continue;
    for (int i = 0; i < opened; i++)
        alive += ping(fds[i]) == 0;
    printf("{\"alive\":%d}\n", alive);
}

/* ---- rate: when did how many bytes come? ---- */

static void run_rate(int port, double seconds)
{
    static char block[BLOCK_BYTES];
    int64_t *at_ns = allocate(MAX_SAMPLES, sizeof *at_ns), *bytes = allocate(MAX_SAMPLES, sizeof *bytes);
    int64_t start_ns = now_ns(), end_ns = start_ns + (int64_t)(seconds * NS_PER_S), arrived_ns = start_ns;
    int fd = connect_to(port), samples = 0;
    if (fd < 0)
        fail("connect");
    while (samples < MAX_SAMPLES) {
        ssize_t size = recv(fd, block, sizeof block, 0);
        arrived_ns = now_ns();
        if (size <= 0 || arrived_ns >= end_ns)
            break;
        at_ns[samples] = arrived_ns - start_ns;
        bytes[samples++] = size;
    }
    printf("{\"elapsed_ns\":%lld,", (long long)((arrived_ns < end_ns ? arrived_ns : end_ns) - start_ns));
    print_array("at_ns", at_ns, samples);
    printf(",");
    print_array("bytes", bytes, samples);
    printf("}\n");
}

/* ---- the command line ---- */

static void raise_file_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int count, char **words)
{
    const char *job = count > 1 ? words[1] : "";
    int port = count > 2 ? atoi(words[2]) : 0;
    signal(SIGPIPE, SIG_IGN);
    /* The harness may be killed; its servers must not outlive it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Without this the kernel may round our timers up by 50 µs. */
    prctl(PR_SET_TIMERSLACK, 1);
    raise_file_limit();
    if (strcmp(job, "echo") == 0 && count == 2)
        serve_echo();
    else if (strcmp(job, "sink") == 0 && count == 2)
        serve_with_threads(sink_connection);
    else if (strcmp(job, "source") == 0 && count == 2)
        serve_with_threads(source_connection);
    else if (strcmp(job, "connect") == 0 && count == 6)
        run_connect(port, atof(words[3]), atoi(words[4]), words[5]);
    else if (strcmp(job, "bulk") == 0 && count == 4)
        run_bulk(port, atoll(words[3]));
    else if (strcmp(job, "pace") == 0 && count == 6)
        run_pace(port, atoi(words[3]), atof(words[4]), atof(words[5]));
    else if (strcmp(job, "idle") == 0 && count == 4)
        run_idle(port, atoi(words[3]));
    else if (strcmp(job, "rate") == 0 && count == 4)
        run_rate(port, atof(words[3]));
    else {
        fprintf(stderr, "loadgen: see the head of loadgen.c for the commands\n");
        return 2;
    }
    return 0;
}
