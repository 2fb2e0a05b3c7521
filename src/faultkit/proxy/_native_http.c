/* Messages that a layer lets pass as they are (`Direction.whole`), where no filter acts: Direction._pump_layer.
 * Included by _native.c. */

/* The length of what an attribute holds; -1 for an error. */
static Py_ssize_t length_of(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(self, name);
    Py_ssize_t size = found == NULL ? -1 : PyObject_Size(found);
    Py_XDECREF(found);
    return size;
}

/* The direction that moves bytes the other way, as a new reference; NULL with an exception. */
static PyObject *other_way(Fields *f)
{
    PyObject *other = PyObject_GetAttr(f->link, s_up);
    if (other == (PyObject *)f) {
        Py_DECREF(other);
        other = PyObject_GetAttr(f->link, s_down);
    }
    if (other != NULL && Py_TYPE(other) != Py_TYPE((PyObject *)f)) {
        PyErr_SetString(PyExc_TypeError, "link: expected two directions of one class");
        Py_CLEAR(other);
    }
    return other;
}

/* 1 if more may be read without a look at the budget and the layer, 0 if Python has to decide, -1 for an error. */
static int has_room(Fields *f, PyObject *far)
{
    Py_ssize_t own, others = 0;
    if (get_size(far, s_held_bytes, &own) < 0)
        return -1;
    /* What the session has written to the other side must not pile up there either. */
    PyObject *found = other_way(f);
    if (found == NULL)
        return -1;
    Fields *other = (Fields *)found;
    int failed = !is_none(other->far_chain) && get_size(other->far_chain, s_held_bytes, &others) < 0;
    others += other->out_bytes;
    Py_DECREF(found);
    return failed ? -1 : own + f->out_bytes < settings.always_allowed && others < settings.always_allowed;
}

/* Let the other way go on which may have waited until the target has taken all: Link.on_drained. */
static int drained(Fields *f)
{
    if (f->mode == settings.shut || !is_none(f->out))
        return 0;
    PyObject *other = other_way(f);
    int failed = other == NULL ? -1 : ((Fields *)other)->readable ? call_method(other, s_pump_again) : 0;
    Py_XDECREF(other);
    return failed;
}

/* Release what is due behind the layer. */
static int release_far(Fields *f, PyObject *far, PyObject *queue, double now)
{
    double at;
    if (is_none(f->out) && (first_at(queue, &at) < 0 || at > now))
        return PyErr_Occurred() ? -1 : 0;
    return release(f, far, queue, now, 0) < 0 || drained(f) < 0 ? -1 : 0;
}

/* Pass on bytes as they are, from `due_at` on. */
static int pass_whole(Fields *f, PyObject *far, PyObject *queue, PyObject *chunk, double due_at, double now)
{
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(chunk, &bytes, &size) < 0)
        return -1;
    if (due_at <= now && is_none(f->out) && f->writable && f->target >= 0 && PyObject_Size(queue) == 0) {
        Py_ssize_t sent = give(f->target, bytes, size);
        if (sent < 0)
            return call_method(f->link, s_reset);
        f->moved += sent;
        return sent < size ? keep_rest(f, bytes + sent, size - sent) : 0;
    }
    PyObject *event = data_of(due_at, chunk);
    int failed = event == NULL || call_method_with(queue, s_append, event) < 0 ||
                 add_size(far, s_held_bytes, size) < 0 || release_far(f, far, queue, now) < 0;
    Py_XDECREF(event);
    return failed ? -1 : 0;
}

/* Give bytes to the layer; it has taken them already if `is_taken`. */
static int feed_layer(Fields *f, PyObject *chunk, int is_taken, double now)
{
    PyObject *given = is_taken ? PyBytes_FromStringAndSize(NULL, 0) : Py_NewRef(chunk);
    PyObject *when = PyFloat_FromDouble(now), *result = NULL;
    if (given != NULL && when != NULL)
        result = PyObject_CallMethodObjArgs((PyObject *)f, s_feed_layer, given, when, NULL);
    Py_XDECREF(given);
    Py_XDECREF(when);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static int pass_chunk(Fields *f, PyObject *far, PyObject *queue, PyObject *whole, Py_ssize_t size, double now)
{
    PyObject *chunk = PyBytes_FromStringAndSize(buffer, size), *when = PyFloat_FromDouble(now), *due = NULL;
    if (chunk != NULL && when != NULL)
        due = PyObject_CallFunctionObjArgs(whole, chunk, when, NULL);
    int failed = -1;
    if (due == Py_None)
        failed = feed_layer(f, chunk, 0, now);
    else if (due != NULL) {
        double due_at = PyFloat_AsDouble(due);
        if (due_at == Py_HUGE_VAL)
            failed = feed_layer(f, chunk, 1, now);
        else if (due_at != -1.0 || !PyErr_Occurred())
            failed = pass_whole(f, far, queue, chunk, due_at, now);
    }
    Py_XDECREF(chunk);
    Py_XDECREF(when);
    Py_XDECREF(due);
    return failed;
}

static int settle_far(Fields *f, PyObject *far, PyObject *queue)
{
    double next_at;
    Py_ssize_t bytes;
    if (first_at(queue, &next_at) < 0 || arm(f, next_at) < 0 || get_size(far, s_held_bytes, &bytes) < 0)
        return -1;
    return report_held(f, bytes + f->out_bytes);
}

/* As pump_layer, with references to what it uses. */
static int pump_whole(Fields *f, PyObject *near, PyObject *far, PyObject *queue, PyObject *whole)
{
    Py_ssize_t acts = length_of(near, s_stages);
    if (acts == 0 && (acts = length_of(near, s_incoming)) == 0)
        acts = length_of(far, s_stages);
    if (acts != 0)
        return acts < 0 ? -1 : 0;
    double now = monotonic();
    if (release_far(f, far, queue, now) < 0)
        return -1;
    for (int turns = settings.turns;; now = monotonic()) {
        if (f->mode == settings.shut)
            return 1;
        if (f->near_chain != near || f->far_chain != far)
            return 0; /* The upstream was dropped. */
        if (!f->readable)
            break;
        Py_ssize_t read_size;
        int room = has_room(f, far);
        if (room != 1)
            return room;
        if (get_size(near, s_read_size, &read_size) < 0)
            return -1;
        if (read_size > BUFFER_SIZE)
            read_size = BUFFER_SIZE;
        Py_ssize_t size = take(f->source, read_size);
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            f->readable = 0;
            break;
        }
        if (size <= 0) {
            PyObject *is_failed = PyBool_FromLong(size < 0), *when = PyFloat_FromDouble(now);
            PyObject *result =
                when == NULL ? NULL
                             : PyObject_CallMethodObjArgs((PyObject *)f, s_end_of_chain_source, is_failed, when, NULL);
            Py_XDECREF(when);
            Py_DECREF(is_failed);
            Py_XDECREF(result);
            return result == NULL ? -1 : 0;
        }
        int is_dry = size < read_size && !f->ending;
        if (pass_chunk(f, far, queue, whole, size, now) < 0)
            return -1;
        if (is_dry)
            f->readable = 0;
        else if (--turns == 0) {
            if (f->mode != settings.shut && call_method((PyObject *)f, s_pump_again) < 0)
                return -1;
            break;
        }
    }
    return f->mode != settings.shut && settle_far(f, far, queue) < 0 ? -1 : 1;
}

/* 1: done; 0: Direction._pump_chain has to go on from here; -1: error. */
static int pump_layer(Fields *f)
{
    PyObject *near = f->near_chain, *far = f->far_chain, *whole = f->whole;
    if (is_none(near) || is_none(far))
        return 0;
    PyObject *queue = PyObject_GetAttr(far, s_incoming);
    if (queue == NULL)
        return -1;
    Py_INCREF(near);
    Py_INCREF(far);
    Py_INCREF(whole);
    int done = pump_whole(f, near, far, queue, whole);
    Py_DECREF(near);
    Py_DECREF(far);
    Py_DECREF(whole);
    Py_DECREF(queue);
    return done;
}
