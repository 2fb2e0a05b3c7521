"""Child processes that serve calls: real ones, also killed ones."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.base.child_process import ChildEnded, ChildProcess, usable_processors
from faultkit.base.errors import InputError, RunError, TargetError

COUNTER = "tests.served:Counter"
PATIENCE_S = 20.0
WITH_A_CHILD = """
import sys, threading
from faultkit.base.child_process import ChildProcess

def start():
    child = ChildProcess("tests.served:Counter")
    child.ready()
    print(child.pid, flush=True)
    if sys.argv[1] == "busy":
        child.call("deaf")
    sys.stdin.read()

if sys.argv[2] == "main":
    start()
else:
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
"""


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    with ChildProcess(COUNTER, 5) as child:
        yield child


def is_gone(pid: int) -> bool:
    """Return whether a process has ended and been reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def failure(child: ChildProcess, method: str, *args: object) -> tuple[type[Exception], str]:
    with pytest.raises(Exception) as caught:
        child.call(method, *args)
    return type(caught.value), str(caught.value)


def test_calls_have_arguments_answers_and_a_memory(child: ChildProcess) -> None:
    assert child.call("add", 2) == 7
    assert child.call("add", 1, times=3) == 10


def test_a_context_manager_is_entered_and_left(tmp_path: Path) -> None:
    book = tmp_path / "book"
    with ChildProcess("tests.served:Guest", str(book)) as child:
        assert child.call("read") == "came\n"
    assert book.read_text() == "came\nwent\n"


def test_errors_of_ours_arrive_with_their_fields(child: ChildProcess) -> None:
    with pytest.raises(InputError) as caught:
        child.call("wrong_input")
    assert (caught.value.path, caught.value.problem) == ("rules[2].name", "expected a name, got none")
    assert failure(child, "wrong_target") == (TargetError, "db: cannot be reached")
    assert child.call("add", 0) == 5


def test_other_errors_arrive_as_text_with_the_place_as_a_note(child: ChildProcess) -> None:
    with pytest.raises(RunError) as caught:
        child.call("key")
    assert str(caught.value) == "KeyError: 'absent'"
    assert "in key" in caught.value.__notes__[0]
    assert failure(child, "odd") == (RunError, "Odd: 1 and 2")
    missing = "AttributeError: 'Counter' object has no attribute 'nothing'"
    assert failure(child, "nothing") == (RunError, missing)
    assert child.call("add", 0) == 5


def test_what_cannot_be_sent_is_an_error_and_the_child_goes_on(child: ChildProcess) -> None:
    unsent = "TypeError: cannot pickle '_io.TextIOWrapper' object"
    assert failure(child, "open_file") == (RunError, unsent)
    assert failure(child, "echo", threading.Lock()) == (TypeError, "cannot pickle '_thread.lock' object")
    assert child.call("add", 0) == 5


def test_a_factory_that_fails_says_why() -> None:
    with ChildProcess("tests.served:refuse") as child:
        with pytest.raises(InputError, match="workers: expected fewer, got too many"):
            child.ready()
        assert failure(child, "add", 1) == (ChildEnded, "the child process ended with exit code 1")
    with ChildProcess("tests.nowhere:nothing") as child:
        why = "ModuleNotFoundError: No module named 'tests.nowhere'"
        assert failure(child, "add", 1) == (RunError, why)


def test_ten_megabytes_go_both_ways(child: ChildProcess) -> None:
    block = os.urandom(10_000_000)
    assert child.call("echo", block) == block


def test_what_the_child_tells_comes_before_its_answer() -> None:
    told: list[int] = []
    with ChildProcess(COUNTER, on_message=told.append) as child:
        assert child.call("count_down", 1000) == "lift-off"
    assert told == list(range(1000, 0, -1))


def test_a_listener_that_fails_ends_its_call_and_not_the_child() -> None:
    heard: list[int] = []

    def listen(number: int) -> None:
        heard.append(number)
        if number == 3:
            raise ValueError("three is too much")

    with ChildProcess(COUNTER, on_message=listen) as child:
        assert failure(child, "count_down", 4) == (ValueError, "three is too much")
        assert child.call("add", 1) == 1
    assert heard == [4, 3, 2, 1]


def test_an_interruption_reaches_a_call_that_is_under_way() -> None:
    with ChildProcess(COUNTER, on_message=lambda word: counter.interrupt()) as counter:
        assert counter.call("until_stopped") == "stopped"
        assert counter.call("until_stopped") == "stopped"


def test_an_interruption_before_the_call_counts_too(child: ChildProcess) -> None:
    child.interrupt()
    assert child.call("until_stopped") == "stopped"


def test_threads_take_turns(child: ChildProcess) -> None:
    answers: queue.SimpleQueue[int] = queue.SimpleQueue()
    threads = [threading.Thread(target=lambda: answers.put(child.call("add", 1))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sorted(answers.get(timeout=PATIENCE_S) for _ in threads) == list(range(6, 26))


def test_a_child_that_is_killed_says_so_at_every_call() -> None:
    with ChildProcess(COUNTER, name="worker 3") as child:
        child.ready()
        os.kill(child.pid, signal.SIGKILL)
        for _ in range(2):
            assert failure(child, "add", 1) == (ChildEnded, "worker 3 was ended by SIGKILL")
        child.interrupt()


def test_a_child_that_dies_in_a_call_ends_the_call(child: ChildProcess) -> None:
    assert failure(child, "leave", 7) == (ChildEnded, "the child process ended with exit code 7")


def test_a_child_that_is_killed_in_a_call_ends_the_call() -> None:
    with ChildProcess(COUNTER, on_message=lambda word: os.kill(counter.pid, signal.SIGKILL)) as counter:
        assert failure(counter, "deaf") == (ChildEnded, "the child process was ended by SIGKILL")


@pytest.mark.parametrize("size", [1, 10_000_000], ids=["it takes the call", "it cannot even take the call"])
def test_a_child_that_does_not_answer_in_time_is_ended_and_says_so_ever_after(size: int) -> None:
    said = (ChildEnded, "worker 3 did not answer within 0.1 s and was ended")
    with ChildProcess(COUNTER, name="worker 3") as child:
        assert child.call("echo", b"x" * size, timeout_s=PATIENCE_S) == b"x" * size
        os.kill(child.pid, signal.SIGSTOP)
        with pytest.raises(RunError) as caught:
            child.call("echo", b"x" * size, timeout_s=0.1)
        assert (ChildEnded, str(caught.value)) == said
        assert is_gone(child.pid)
        assert failure(child, "add", 1) == said


def test_a_child_that_is_not_made_in_time_is_ended() -> None:
    with ChildProcess(COUNTER) as child:
        os.kill(child.pid, signal.SIGSTOP)
        with pytest.raises(RunError, match=r"did not answer within 0\.1 s and was ended"):
            child.ready(0.1)
        assert is_gone(child.pid)


def test_a_limit_counts_the_wait_for_another_thread_s_call_too() -> None:
    deaf = threading.Event()
    said: list[str] = []
    with ChildProcess(COUNTER, on_message=lambda word: deaf.set()) as child:

        def call() -> None:
            with pytest.raises(RunError) as caught:
                child.call("deaf")
            said.append(str(caught.value))

        thread = threading.Thread(target=call)
        thread.start()
        assert deaf.wait(PATIENCE_S)
        with pytest.raises(RunError) as caught:
            child.call("add", 1, timeout_s=0.1)
        thread.join(PATIENCE_S)
        assert said == [str(caught.value)] == ["the child process did not answer within 0.1 s and was ended"]


def test_a_limited_call_after_the_close_says_that_it_was_closed() -> None:
    child = ChildProcess(COUNTER)
    child.close()
    with pytest.raises(RunError, match="the child process was closed"):
        child.call("add", 1, timeout_s=PATIENCE_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signals_of_a_terminal_are_left_to_the_parent(child: ChildProcess, number: int) -> None:
    assert child.call("signal_itself", number) == "still here"
    assert child.call("add", 1) == 6


def test_sigterm_leaves_time_for_a_last_word_and_a_second_one_does_not(child: ChildProcess) -> None:
    assert child.call("signal_itself", signal.SIGTERM) == "still here"
    assert child.call("add", 1) == 6
    assert failure(child, "signal_itself", signal.SIGTERM) == (
        ChildEnded,
        "the child process was ended by SIGTERM",
    )


def test_sigterm_ends_a_child_that_nobody_ends(child: ChildProcess) -> None:
    assert child.call("signal_itself", signal.SIGTERM) == "still here"
    assert failure(child, "deaf") == (ChildEnded, "the child process was ended by SIGTERM")


def test_close_may_come_twice_and_leaves_no_process() -> None:
    child = ChildProcess(COUNTER)
    child.ready()
    child.close()
    child.close()
    assert is_gone(child.pid)
    assert failure(child, "add", 1) == (ChildEnded, "the child process was closed")


def test_close_may_come_before_the_child_is_there() -> None:
    child = ChildProcess(COUNTER)
    child.close()
    assert is_gone(child.pid)


def test_close_ends_a_call_of_another_thread_and_a_child_that_does_not_listen() -> None:
    deaf = threading.Event()
    said: list[str] = []
    child = ChildProcess(COUNTER, on_message=lambda word: deaf.set())

    def call() -> None:
        with pytest.raises(RunError) as caught:
            child.call("deaf")
        said.append(str(caught.value))

    thread = threading.Thread(target=call)
    thread.start()
    assert deaf.wait(PATIENCE_S)
    child.close()
    thread.join(PATIENCE_S)
    assert said == ["the child process was closed"]
    assert is_gone(child.pid)


@pytest.mark.parametrize("doing", ["idle", "busy"])
@pytest.mark.parametrize("thread", ["main", "other"])
def test_a_child_ends_when_its_parent_is_killed(doing: str, thread: str) -> None:
    """The child has the parent's stderr: when that ends, both are gone. Only a main thread's child gets
    a signal for it; the other sees that its socket has ended."""
    parent = subprocess.Popen(
        [sys.executable, "-c", WITH_A_CHILD, doing, thread],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) != parent.pid
        parent.kill()
        _, errors = parent.communicate(timeout=PATIENCE_S)
    assert errors == b""


def test_nothing_of_the_child_goes_to_our_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    with ChildProcess(COUNTER) as child:
        child.call("speak")
    assert capfd.readouterr() == ("", "on stderr\n")


def test_children_do_not_hold_each_others_sockets_and_nothing_stays_open() -> None:
    before = len(os.listdir("/dev/fd"))
    with ChildProcess(COUNTER) as first, ChildProcess(COUNTER) as second:
        assert first.call("descriptors") == second.call("descriptors")
    assert len(os.listdir("/dev/fd")) == before


def test_the_path_for_imports_is_not_left_in_the_childs_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with ChildProcess(COUNTER) as child:
        assert child.call("environment", "PYTHONPATH") is None


def test_a_module_in_the_current_folder_does_not_stand_in_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    with ChildProcess(COUNTER) as child:
        assert child.call("add", 1) == 1


def test_processors_are_those_that_this_process_may_use() -> None:
    assert 1 <= usable_processors() <= (os.cpu_count() or 1)
