"""Go code that a change would break: errors without a way out, contexts that have ended, names, kept files.

The programs run before and after the safe changes, if there is a Go compiler.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from faultkit.code.advice.project_settings import project_of
from faultkit.code.changes.project import Project
from tests.code.changes.cases import asked, boldly, safely

PATIENCE_S = 120.0

PROGRAMS = {
    "a failed call with a check for success": """
import ("fmt"; "net/http"; "time")

var client = &http.Client{Timeout: time.Second}

func state(url string) string {
	answer, err := client.Get(url)
	if err == nil {
		return answer.Status
	}
	return "down"
}

func main() { fmt.Println(state("http://127.0.0.1:1/")) }
""",
    "a failed call whose error is only printed": """
import ("fmt"; "net")

func main() {
	peer, err := net.Dial("tcp", "127.0.0.1:1")
	if err != nil {
		fmt.Println("down")
	}
	if peer != nil {
		fmt.Println(peer.RemoteAddr())
	}
}
""",
    "a failed call whose error is handled in some cases": """
import ("fmt"; "net"; "os")

func main() {
	peer, err := net.Dial("tcp", "127.0.0.1:1")
	if err != nil {
		if len(os.Args) > 5 {
			return
		}
	}
	fmt.Println(peer == nil)
}
""",
    "settings of the client of the library": """
import ("errors"; "fmt"; "net/http")

type never struct{}

func (never) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("never") }

func main() {
	http.DefaultClient.Transport = never{}
	answer, err := http.Get("http://127.0.0.1:1/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
}
""",
    "a parameter with the name of a package": """
import ("fmt"; "net/http")

func ask(url string, time int) error {
	client := &http.Client{}
	answer, err := client.Get(url)
	if err != nil {
		return fmt.Errorf("failed after %d", time)
	}
	return answer.Body.Close()
}

func main() { fmt.Println(ask("http://127.0.0.1:1/", 3)) }
""",
    "a function with the name of a package": """
import ("fmt"; "net/http")

func time() int { return 3 }

func main() {
	_, err := http.Get("http://127.0.0.1:1/")
	fmt.Println(err != nil, time())
}
""",
    "a package that is imported without a name": """
import ("fmt"; "net/http"; _ "time")

func main() {
	_, err := http.Get("http://127.0.0.1:1/")
	fmt.Println(err != nil)
}
""",
    "a variable with the name of the context": """
import ("context"; "fmt"; "os/exec")

func each(ctx context.Context, words []string) {
	for _, ctx := range words {
		out, err := exec.Command("echo", ctx).Output()
		fmt.Println(string(out), err)
	}
}

func main() { each(context.Background(), []string{"a"}) }
""",
    "a program that is run when the context has ended": """
import ("context"; "fmt"; "os/exec")

func work(ctx context.Context) {
	<-ctx.Done()
	out, err := exec.Command("echo", "cleaned").Output()
	fmt.Println(string(out), err)
}

func flush(ctx context.Context) {
	out, err := exec.Command("echo", "flushed").Output()
	fmt.Println(string(out), err)
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	work(ctx)
	flush(ctx)
}
""",
    "a function that is returned and reads a file": """
import ("bufio"; "fmt"; "os")

func words(path string) func() bool {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	scanner := bufio.NewScanner(file)
	return func() bool { return scanner.Scan() }
}

func main() { fmt.Println(words("main.go")()) }
""",
    "a reader that is returned as a named result": """
import ("bufio"; "fmt"; "os")

func first(path string) (file *os.File, err error) {
	file, err = os.Open(path)
	if err != nil {
		return
	}
	return
}

func main() {
	file, err := first("main.go")
	if err != nil {
		panic(err)
	}
	scanner := bufio.NewScanner(file)
	fmt.Println(scanner.Scan(), scanner.Text(), scanner.Err())
}
""",
    "files that are read to their end": """
import ("bufio"; "encoding/json"; "fmt"; "io"; "os")

func size(path string) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	} // opened
	all, err := io.ReadAll(bufio.NewReader(file))
	return len(all), err
}

func lines(path string) (count int) {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		count++
	}
	return count
}

func save(path string, value any) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(value)
}

func main() {
	fmt.Println(save("a.json", []int{1, 2}))
	fmt.Println(size("a.json"))
	fmt.Println(lines("a.json"))
}
""",
}


@pytest.mark.skipif(shutil.which("go") is None, reason="needs a Go compiler")
@pytest.mark.parametrize("name", PROGRAMS)
def test_safely_changed_go_prints_what_it_printed(name: str, tmp_path: Path) -> None:
    text = f"package main\n{PROGRAMS[name]}"
    (tmp_path / "go.mod").write_text("module a\n\ngo 1.21\n")
    outputs = []
    for version in (text, safely(text, "go").new):
        (tmp_path / "main.go").write_text(version)
        done = subprocess.run(
            ["go", "run", "."], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]


CHANGED = ("files that are read to their end", "a package that is imported without a name")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in CHANGED])
def test_a_change_that_may_break_a_go_program_is_not_safe(name: str) -> None:
    assert safely(f"package main\n{PROGRAMS[name]}", "go").diff == ""


def test_files_that_are_used_in_their_function_only_are_closed() -> None:
    new = safely(f"package main\n{PROGRAMS['files that are read to their end']}", "go").new
    assert new.count("defer file.Close()") == 2
    assert "\t} // opened\n\tdefer file.Close()\n" in new
    assert "defer out.Close()" in new


def test_a_package_that_is_imported_without_a_name_is_imported_again() -> None:
    new = safely(f"package main\n{PROGRAMS['a package that is imported without a name']}", "go").new
    assert '_ "time"' in new
    assert new.count('"time"') == 2


NEVER_CLOSED = (
    "a failed call with a check for success", "a failed call whose error is only printed",
    "a failed call whose error is handled in some cases",
)  # fmt: skip


@pytest.mark.parametrize("name", NEVER_CLOSED)
def test_nothing_is_closed_where_the_call_may_have_failed(name: str) -> None:
    assert "defer" not in boldly(f"package main\n{PROGRAMS[name]}", "go").new


def test_a_file_that_is_kept_asks() -> None:
    text = f"package main\n{PROGRAMS['a function that is returned and reads a file']}"
    assert asked(text, "go") == {"FK-R013"}


LATER = {
    "a deferred function": "defer func() { {} }()",
    "a timer": "time.AfterFunc(9, func() { {} })",
    "a function that is launched by its name": "{}\n\tgo handle(w, r)",
    "a function that is deferred by its name": "{}\n\tdefer handle(w, r)",
    "code after the end": "<-r.Context().Done()\n\t{}",
}


@pytest.mark.parametrize("body", LATER.values(), ids=LATER)
def test_work_that_is_done_after_the_end_of_a_context_keeps_its_own(body: str) -> None:
    work = 'err := exec.Command("ls").Run(); log.Println(err)'
    text = (
        'package a\n\nimport (\n\t"log"\n\t"net/http"\n\t"os/exec"\n\t"time"\n)\n\n'
        f"func handle(w http.ResponseWriter, r *http.Request) {{\n\t{body.replace('{}', work)}\n}}\n"
    )
    assert "CommandContext(r" not in boldly(text, "go").new


def test_a_context_asks() -> None:
    text = (
        'package a\n\nimport (\n\t"context"\n\t"net/http"\n)\n\n'
        "func build(ctx context.Context, url string) (*http.Request, error) {\n"
        '\treturn http.NewRequest(\n\t\t"GET", // the method\n\t\turl,\n\t\tnil,\n\t)\n}\n'
    )
    assert safely(text, "go").diff == ""
    assert 'http.NewRequestWithContext(\n\t\tctx, "GET", // the method\n' in boldly(text, "go").new


def test_a_context_that_is_made_from_the_callers_is_passed_by_its_name() -> None:
    text = (
        'package a\n\nimport (\n\t"context"\n\t"os/exec"\n)\n\nfunc f(ctx context.Context) error {\n'
        '\tctx, cancel := context.WithCancel(ctx)\n\tdefer cancel()\n\treturn exec.Command("ls").Run()\n}\n'
    )
    assert 'exec.CommandContext(ctx, "ls")' in boldly(text, "go").new


SHARED = {
    "a download in the file": (
        'import (\n\t"io"\n\t"net/http"\n)\n\nvar client = &http.Client{}\n\n'
        "func save(w io.Writer, r *http.Response) { io.Copy(w, r.Body) }\n\n"
        "func get(u string) (*http.Response, error) { return client.Get(u) }\n"
    ),
    "an exported client": (
        'import "net/http"\n\nvar Client = &http.Client{}\n\n'
        "func get(u string) (*http.Response, error) { return Client.Get(u) }\n"
    ),
    "a client that is passed on": (
        'import "net/http"\n\nvar client = &http.Client{}\n\n'
        "func get(u string) (*http.Response, error) { use(client); return client.Get(u) }\n"
    ),
}


@pytest.mark.parametrize("text", SHARED.values(), ids=SHARED)
def test_a_limit_of_a_client_that_may_transfer_asks(text: str) -> None:
    assert safely(f"package a\n\n{text}", "go").diff == ""
    assert "Timeout: 30 * time.Second" in boldly(f"package a\n\n{text}", "go").new


ASKS = (
    "func {}(u string) (int, error) {{\n\tr, err := {}.Get(u)\n\tif err != nil {{\n\t\treturn 0, err\n\t}}\n"
    "\tdefer r.Body.Close()\n\treturn r.StatusCode, nil\n}}\n"
)


def test_a_limit_of_a_client_whose_requests_are_all_seen_is_safe() -> None:
    text = f'package a\n\nimport "net/http"\n\nvar client = &http.Client{{}}\n\n{ASKS.format("f", "client")}'
    assert "Timeout: 30 * time.Second" in safely(text, "go").new


def test_clients_of_two_functions_are_told_apart() -> None:
    one = (
        "func {}(u string) (int, error) {{\n\tclient := &http.Client{{}}\n\tr, err := client.Head(u)\n"
        "\tif err != nil {{\n\t\treturn 0, err\n\t}}\n\treturn r.StatusCode, nil\n}}\n"
    )
    text = f'package a\n\nimport "net/http"\n\n{one.format("a")}\n{one.format("b")}'
    assert safely(text, "go").new.count("&http.Client{Timeout: 30 * time.Second}") == 2


def test_settings_of_the_default_client_in_another_folder_count(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module a\n")
    (tmp_path / "b").mkdir()
    setting = tmp_path / "b" / "b.go"
    setting.write_text('package b\n\nimport "net/http"\n\nfunc init() { http.DefaultClient.Jar = nil }\n')
    file = tmp_path / "a.go"
    file.write_text(f'package a\n\nimport "net/http"\n\n{ASKS.format("f", "http")}')
    assert project_of(file).sets_default_client
    assert safely(file.read_text(), "go", project_of(file)).diff == ""
    setting.write_text("package b\n")
    assert "httpClient.Get(u)" in safely(file.read_text(), "go", project_of(file)).new


def test_a_name_that_another_file_of_the_package_declares_is_not_imported() -> None:
    text = 'package a\n\nimport "net/http"\n\nfunc F(u string) { http.Get(u) }\n'
    other = Project(package=(("b.go", "package a\n\nfunc time() int { return 1 }\n"),))
    assert safely(text, "go", other).new == text
