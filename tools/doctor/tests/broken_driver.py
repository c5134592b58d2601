"""Gives broken tensors to libraries, and compares what becomes of them with the
doctor's verdict: as `verdicts_driver.py`, for tensors that no library makes."""

import importlib.util
import json
import os
import sys
import warnings
from collections import Counter

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import broken  # noqa: E402
import conftest  # noqa: E402, F401  (says where the modules are)
import dlpack_doctor  # noqa: E402
from dlpack_doctor.consumers import TAKES  # noqa: E402
from verdicts_driver import MODES, NOT_TRIED, judged, nanobind, outcome  # noqa: E402


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print where they like

    def say(**line):
        print(json.dumps(line), file=out, flush=True)

    consumers = {}
    for name in MODES[sys.argv[1]]:
        if importlib.util.find_spec(name):
            consumers[name] = nanobind() if name == "nanobind" else TAKES[name]()
    count = Counter()
    for producer in sys.argv[2:]:
        tensor = getattr(broken, producer)()
        for verdict in dlpack_doctor.examine(tensor).verdicts:
            name = verdict["consumer"]
            if name not in consumers or judged([verdict], name) is None:
                continue
            count[verdict["fit"]] += 1
            if verdict["fit"] in NOT_TRIED:
                continue
            say(trying=f"{producer} {name}")
            fit, why = outcome(name, *consumers[name], tensor)
            if fit != verdict["fit"]:
                found = [fit, why]
                say(wrong=f"{producer} into {name}", verdict=verdict, found=found)
    say(count=count)
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
