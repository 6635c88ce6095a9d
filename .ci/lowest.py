"""Print `name==version` for the lower bound of each dependency of the core and its small extras."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
extras = project["optional-dependencies"]
tested = ("cli", "local", "turbovec", "faiss", "simd")
for line in [*project["dependencies"], *(x for name in tested for x in extras[name])]:
    found = re.match(r"([\w.-]+)>=([\w.]+)", line)
    if found is None:
        raise SystemExit(f"no lower bound: {line}")
    print(f"{found[1]}=={found[2]}")
