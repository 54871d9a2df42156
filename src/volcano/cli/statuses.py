"""Exit statuses: what they mean is a promise to scripts."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
NO: Final = 1
USAGE: Final = 2
UNREADABLE: Final = 2
TIMED_OUT: Final = 124
INTERRUPTED: Final = 130
FAILED: Final = 255

MEANINGS: Final = {
    DONE: (
        "Done. `wait`, `job run --watch`, `vsub --wait`: the job completed; `validate`: all objects are allowed; "
        "`diff`: no difference; `config lint`, `doctor`: nothing to remark"
    ),
    NO: (
        "The answer is no. `wait`, `job run --watch`, `vsub --wait`: the job ended otherwise; `logs`: no log could be "
        "read; `validate`, `schedule`: an object is refused; `diff`: there are differences; `config lint`, `doctor`: "
        "there are remarks; `local status`: no cluster runs"
    ),
    USAGE: "The command line is wrong, or a file that it names cannot be read",
    TIMED_OUT: "`wait`: the time given with `--timeout` is over",
    INTERRUPTED: "Interrupted from the keyboard",
    FAILED: (
        "The command failed, and standard error says why; of several objects, one failed. Also, as in the Go Volcano: "
        "no NAME is given, `--requests`, `--limits` or a kubeconfig cannot be read, `job run` cannot use its file, or "
        "`queue operate` its action"
    ),
}
