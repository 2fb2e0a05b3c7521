"""Children whose output nothing reads while they are waited for."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "undrained-pipe"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import subprocess

        def convert(path):
            child = subprocess.Popen(["convert", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            child.wait(timeout=60)
            return child.stdout.read()

        def scan(path):
            child = subprocess.Popen(["scan", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for line in child.stdout:
                note(line)
            child.wait()
            return child.stderr.read()
        """,
        5,
        12,
    ),
    good(
        _RULE,
        "python",
        """
        import subprocess

        def convert(path):
            child = subprocess.Popen(["convert", path], stdout=subprocess.PIPE)
            out, _ = child.communicate(timeout=60)
            child.wait()
            return out

        def scan(path):
            child = subprocess.Popen(["scan", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for line in child.stdout:
                note(line)
            child.wait()

        def start(path):
            child = subprocess.Popen(["scan", path])
            child.wait()
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        class Media {
            int convert(String file) throws Exception {
                Process child = new ProcessBuilder("convert", file).start();
                child.waitFor(1, TimeUnit.MINUTES);
                return child.exitValue();
            }
        }
        """,
        4,
    ),
    good(
        _RULE,
        "java",
        """
        class Media {
            int convert(String file) throws Exception {
                Process child = new ProcessBuilder("convert", file).redirectErrorStream(true).start();
                String text = new String(child.getInputStream().readAllBytes());
                return child.waitFor();
            }

            int quiet(String file) throws Exception {
                Process child = new ProcessBuilder("convert", file).inheritIO().start();
                return child.waitFor();
            }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        fun convert(file: String): Int {
            val child = ProcessBuilder("convert", file).start()
            return child.waitFor()
        }
        """,
        3,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Media
        {
            void Convert(string file)
            {
                var info = new ProcessStartInfo("convert", file) { RedirectStandardOutput = true };
                using var child = Process.Start(info);
                child.WaitForExit(60000);
                var text = child.StandardOutput.ReadToEnd();
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "csharp",
        """
        class Media
        {
            async Task ConvertAsync(string file)
            {
                var info = new ProcessStartInfo("convert", file) { RedirectStandardOutput = true };
                using var child = Process.Start(info);
                var text = await child.StandardOutput.ReadToEndAsync();
                await child.WaitForExitAsync();
            }

            void Plain(string file)
            {
                using var child = Process.Start(new ProcessStartInfo("convert", file));
                child.WaitForExit(60000);
            }
        }
        """,
    ),
    bad(
        _RULE,
        "go",
        """
        package media

        func convert(name string) error {
        	cmd := exec.Command("convert", name)
        	out, err := cmd.StdoutPipe()
        	cmd.Start()
        	if err := cmd.Wait(); err != nil {
        		return err
        	}
        	_, err = io.ReadAll(out)
        	return err
        }
        """,
        7,
    ),
    good(
        _RULE,
        "go",
        """
        package media

        func convert(name string) error {
        	cmd := exec.Command("convert", name)
        	out, err := cmd.StdoutPipe()
        	cmd.Start()
        	io.Copy(os.Stdout, out)
        	return cmd.Wait()
        }
        """,
    ),
    bad(
        _RULE,
        "rust",
        """
        fn convert(path: &Path) -> io::Result<ExitStatus> {
            let mut child = Command::new("convert").arg(path).stdout(Stdio::piped()).spawn()?;
            child.wait()
        }
        """,
        3,
    ),
    good(
        _RULE,
        "rust",
        """
        fn convert(path: &Path) -> io::Result<Output> {
            let child = Command::new("convert").arg(path).stdout(Stdio::piped()).spawn()?;
            child.wait_with_output()
        }

        fn plain(path: &Path) -> io::Result<ExitStatus> {
            let mut child = Command::new("convert").arg(path).spawn()?;
            child.wait()
        }
        """,
    ),
    bad(
        _RULE,
        "javascript",
        """
        const { spawn } = require('child_process');

        function convert(file, done) {
          const child = spawn('convert', [file]);
          child.on('close', done);
        }
        """,
        4,
    ),
    good(
        _RULE,
        "javascript",
        """
        const { spawn } = require('child_process');

        function convert(file, done) {
          const child = spawn('convert', [file], { stdio: 'ignore' });
          child.on('close', done);
        }

        function show(file, done) {
          const child = spawn('convert', [file]);
          child.stdout.on('data', print);
          child.stderr.on('data', print);
          child.on('close', done);
        }
        """,
    ),
]
