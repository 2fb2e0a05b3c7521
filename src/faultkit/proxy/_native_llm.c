/* Texts of events in whole chunks of an answer: http.answer_rewrite.texts_of_chunks. Included by _native.c. */

/* The size of a chunk, without extensions, and where its content begins; -1 if there is no such line. */
static Py_ssize_t chunk_size(const char *line, const char *end, const char **content)
{
    Py_ssize_t size = 0;
    const char *at = line;
    for (; at < end && at - line < 8; at++) {
        char c = *at;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0)
            break;
        size = size * 16 + digit;
    }
    if (at == line || end - at < 2 || at[0] != '\r' || at[1] != '\n')
        return -1;
    *content = at + 2;
    return size;
}

/* The text between quotation marks, which JSON has as it is: 1 and a new reference, 0 if it is no such text. */
static int plain_text(const char *text, Py_ssize_t size, PyObject **found)
{
    int is_ascii = 1;
    for (Py_ssize_t place = 0; place < size; place++) {
        unsigned char c = (unsigned char)text[place];
        if (c < 0x20 || c == '\\' || c == 0x7f)
            return 0;
        is_ascii &= c < 0x80;
    }
    *found = PyUnicode_DecodeUTF8(text, size, "strict");
    if (*found == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    if (is_ascii)
        return 1;
    PyObject *printable = PyObject_CallMethod(*found, "isprintable", NULL);
    int passes = printable == NULL ? -1 : printable == Py_True;
    Py_XDECREF(printable);
    if (passes != 1)
        Py_CLEAR(*found);
    return passes;
}

/* Add the texts of one chunk's content. 1: added; 0: it is something else; -1: error. */
static int add_texts(PyObject *texts, const char *at, const char *end, const char *before, Py_ssize_t before_size,
                     const char *behind, Py_ssize_t behind_size)
{
    while (at < end) {
        if (end - at < before_size + behind_size || memcmp(at, before, (size_t)before_size) != 0)
            return 0;
        const char *text = at + before_size, *stop = memchr(text, '"', (size_t)(end - text));
        if (stop == NULL || end - stop < behind_size || memcmp(stop, behind, (size_t)behind_size) != 0)
            return 0;
        PyObject *found = NULL;
        int passes = plain_text(text, stop - text, &found);
        if (passes != 1)
            return passes;
        int failed = PyList_Append(texts, found);
        Py_DECREF(found);
        if (failed)
            return -1;
        at = stop + behind_size;
    }
    return 1;
}

static PyObject *texts_of_chunks(PyObject *module, PyObject *args)
{
    const char *data, *before, *behind;
    Py_ssize_t size, before_size, behind_size;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#y#y#", &data, &size, &before, &before_size, &behind, &behind_size))
        return NULL;
    PyObject *texts = PyList_New(0);
    int passes = texts == NULL ? -1 : size > 0 && behind_size > 0 && behind[0] == '"';
    for (const char *at = data, *end = data + size; passes == 1 && at < end;) {
        const char *content;
        Py_ssize_t length = chunk_size(at, end, &content);
        if (length <= 0 || end - content < length + 2 || content[length] != '\r' || content[length + 1] != '\n') {
            passes = 0;
            break;
        }
        passes = add_texts(texts, content, content + length, before, before_size, behind, behind_size);
        at = content + length + 2;
    }
    if (passes == 1)
        return texts;
    Py_XDECREF(texts);
    if (passes < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef llm_methods[] = {
    {"texts_of_chunks", texts_of_chunks, METH_VARARGS, "Return the texts of like events in whole chunks, or None."},
    {NULL, NULL, 0, NULL},
};
