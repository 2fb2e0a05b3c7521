/* What a connection asks of the kernel besides reading and writing: the functions of `sockets.py` that are called
 * for each connection. None of these calls waits, so they keep the interpreter's lock. */

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "_native.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd_of(PyObject *number)
{
    long fd = PyLong_AsLong(number);
    return fd == -1 && PyErr_Occurred() ? -2 : (int)fd;
}

int accept_on(int listener) { return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

static PyObject *accept_client(PyObject *module, PyObject *listener)
{
    (void)module;
    int fd = fd_of(listener);
    if (fd == -2)
        return NULL;
    int client = accept_on(fd);
    if (client < 0 && errno != EAGAIN)
        return PyErr_SetFromErrno(PyExc_OSError);
    return PyLong_FromLong(client);
}

int connect_to(int family, const char *address, Py_ssize_t size)
{
    int one = 1, fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (const struct sockaddr *)address, (socklen_t)size) == 0 || errno == EINPROGRESS)
        return fd;
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

static PyObject *start_connect(PyObject *module, PyObject *args)
{
    int family;
    const char *address;
    Py_ssize_t size;
    (void)module;
    if (!PyArg_ParseTuple(args, "iy#", &family, &address, &size))
        return NULL;
    int fd = connect_to(family, address, size);
    return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

int has_peer(int fd)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
}

static PyObject *is_connected(PyObject *module, PyObject *number)
{
    (void)module;
    int fd = fd_of(number);
    if (fd == -2)
        return NULL;
    return PyBool_FromLong(has_peer(fd));
}

static PyObject *unread_bytes(PyObject *module, PyObject *number)
{
    int bytes = 0, fd = fd_of(number);
    (void)module;
    if (fd == -2)
        return NULL;
    if (ioctl(fd, FIONREAD, &bytes) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    return PyLong_FromLong(bytes);
}

static PyObject *end_output(PyObject *module, PyObject *number)
{
    (void)module;
    int fd = fd_of(number);
    if (fd == -2)
        return NULL;
    shutdown(fd, SHUT_WR);
    Py_RETURN_NONE;
}

void close_socket_by_reset(int fd)
{
    struct linger at_once = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

static PyObject *close_by_reset(PyObject *module, PyObject *number)
{
    (void)module;
    int fd = fd_of(number);
    if (fd == -2)
        return NULL;
    close_socket_by_reset(fd);
    Py_RETURN_NONE;
}

/* `os.read` allocates as many bytes as it may read, and gives back the rest: that costs more than this copy. */
static PyObject *read_bytes(PyObject *module, PyObject *args)
{
    static char buffer[262144];
    int fd;
    Py_ssize_t size, got;
    (void)module;
    if (!PyArg_ParseTuple(args, "in", &fd, &size))
        return NULL;
    if (size < 0 || size > (Py_ssize_t)sizeof buffer)
        size = (Py_ssize_t)sizeof buffer;
    do
        got = recv(fd, buffer, (size_t)size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    return PyBytes_FromStringAndSize(buffer, got);
}

/* As sockets.pass_first. */
static PyObject *pass_first(PyObject *module, PyObject *args)
{
    static char buffer[65536];
    int client, upstream;
    Py_ssize_t got, sent;
    (void)module;
    if (!PyArg_ParseTuple(args, "ii", &client, &upstream))
        return NULL;
    do
        got = recv(client, buffer, sizeof buffer, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        Py_RETURN_NONE;
    if (got <= 0)
        return Py_BuildValue("y#i", buffer, (Py_ssize_t)0, 0);
    do
        sent = send(upstream, buffer, (size_t)got, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return PyErr_SetFromErrno(PyExc_OSError);
    sent = sent < 0 ? 0 : sent;
    return Py_BuildValue("y#n", buffer + sent, got - sent, sent);
}

#define PIPE_SIZE (1 << 20)
#define GOOD_LOAD (768 << 10)
#define SPLICE_FLAGS (SPLICE_F_MOVE | SPLICE_F_NONBLOCK)

enum { MORE, DRY, FULL, SOURCE_ENDED, SOURCE_FAILED, TARGET_FAILED };

static ssize_t splice_some(int from, int to, Py_ssize_t most)
{
    ssize_t size;
    do
        size = splice(from, NULL, to, NULL, (size_t)most, SPLICE_FLAGS);
    while (size < 0 && errno == EINTR);
    return size;
}

/* As pipes._carry. A load may take a tenth of a millisecond, so the lock of the interpreter is released. */
static PyObject *carry(PyObject *module, PyObject *args)
{
    int source, target, inlet, outlet, rounds, why = MORE;
    Py_ssize_t moved = 0, left = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "iiiii", &source, &target, &inlet, &outlet, &rounds))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    while (rounds-- > 0) {
        Py_ssize_t load = 0;
        ssize_t size;
        why = MORE;
        while (load < GOOD_LOAD && (size = splice_some(source, inlet, PIPE_SIZE)) != 0) {
            if (size < 0) {
                why = errno == EAGAIN ? DRY : SOURCE_FAILED;
                break;
            }
            load += size;
        }
        if (load < GOOD_LOAD && why == MORE)
            why = SOURCE_ENDED;
        for (left = load; left > 0; left -= size) {
            size = splice_some(outlet, target, left);
            if (size >= 0)
                continue;
            if (errno != EAGAIN)
                why = TARGET_FAILED;
            else if (why != SOURCE_FAILED)
                why = FULL;
            break;
        }
        moved += load - left;
        if (left > 0 || why == SOURCE_FAILED || (why != MORE && load == 0))
            break;
        why = MORE;
    }
    Py_END_ALLOW_THREADS
    return Py_BuildValue("nni", moved, left, why);
}

PyMethodDef native_socket_methods[] = {
    {"carry", carry, METH_VARARGS, "Move bytes from socket to socket through a pipe."},
    {"pass_first", pass_first, METH_VARARGS, "Pass on the first bytes of a client."},
    {"read_bytes", read_bytes, METH_VARARGS, "Read from a socket that does not block."},
    {"accept_client", accept_client, METH_O, "Accept a client: its descriptor, or -1 if none waits."},
    {"start_connect", start_connect, METH_VARARGS, "Start to connect to a packed address; return the descriptor."},
    {"is_connected", is_connected, METH_O, "Return whether a started connect has succeeded."},
    {"unread_bytes", unread_bytes, METH_O, "Return how many bytes a socket holds."},
    {"end_output", end_output, METH_O, "Send FIN."},
    {"close_by_reset", close_by_reset, METH_O, "Close a socket by RST."},
    {NULL, NULL, 0, NULL},
};
