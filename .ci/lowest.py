"""Print `name==version` for the lower bound of each dependency of the core and the demo."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
extras = project["optional-dependencies"]
for line in [*project["dependencies"], *extras["cli"], *extras["local"]]:
    found = re.match(r"([\w.-]+)>=([\w.]+)", line)
    if found is None:
        raise SystemExit(f"no lower bound: {line}")
    print(f"{found[1]}=={found[2]}")
