"""What a command sees of the terminal under `gpuvet run`, beside what it sees without."""
import fcntl, os, pty, select, struct, sys, termios, time

gpuvet = sys.argv[1]
failures = []


def session(command, keys=(), seconds=10.0):
    """Runs a command at a terminal of 33 × 101; `keys` are (when, bytes or a function of the terminal)."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
        os.execvp(command[0], command)
    output, start, keys = b"", time.time(), list(keys)
    while time.time() - start < seconds:
        if keys and time.time() - start > keys[0][0]:
            key = keys.pop(0)[1]
            if callable(key):
                key(terminal)
            else:
                os.write(terminal, key)
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            output += piece
    else:
        os.kill(pid, 9)
        failures.append(f"{command} did not end: {output!r}")
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    return output, os.waitstatus_to_exitcode(status)


def same(what, command, keys=(), keep=lambda output: output):
    direct = session(command, keys)
    under = session([gpuvet, "run", "--report", "never", "--", *command], keys)
    if (keep(direct[0]), direct[1]) != (keep(under[0]), under[1]):
        failures.append(f"{what}: {under} instead of {direct}")


def resize(terminal):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 99, 0, 0))


same("all three are terminals of that size", ["sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size <&1; tty; exit 7"])
same("bytes", ["sh", "-c", r"printf 'a\nb\r\n\tc\r\r\n\033[31mred\033[0m\r50 %%\r100 %%\n'"])
same("long output", ["sh", "-c", "seq 1 20000"])
same("Ctrl-C", ["sleep", "20"], [(0.7, b"\x03")])
same("Ctrl-\\", ["sh", "-c", "ulimit -c 0; exec sleep 20"], [(0.7, b"\x1c")])
same("size", ["sh", "-c", "trap 'stty size <&1' WINCH; for i in 1 2 3 4 5 6 7 8; do sleep 0.2; done"], [(0.7, resize)])
raw = "import tty, os\ntty.setraw(1)\nos.write(1, b'raw\\r\\nline\\n')\nos.write(1, os.read(0, 1))"
same("modes set by its output", [sys.executable, "-I", "-c", raw], [(1.2, b"x")])
same("modes set by its input", [sys.executable, "-I", "-c", raw.replace("setraw(1)", "setraw(0)")], [(1.2, b"x")])
same("typing", ["sh", "-c", "read line; echo got $line"], [(0.7, b"hello\n")])
same("end of input", ["cat"], [(0.7, b"line\n\x04")])

# Job control: stop, continue, exit code.
shell = ["bash", "--norc", "--noprofile", "-i"]
command = b" sh -c 'echo go; sleep 1.2; echo done; exit 5'\n"
keys = lambda start: [(0.7, start + command), (1.3, b"\x1a"), (1.9, b"echo stopped $?\n"), (2.3, b"fg\n"), (4.5, b"echo code $?\n"), (4.8, b"exit\n")]
output = session(shell, keys(gpuvet.encode() + b" run --report never --"))[0]
for wanted in (b"stopped 148", b"done", b"code 5"):
    if wanted not in output:
        failures.append(f"job control lacks {wanted!r}: {output!r}")

print("\n".join(failures))
sys.exit(1 if failures else 0)
